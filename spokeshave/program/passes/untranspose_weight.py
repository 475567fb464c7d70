"""A weight that is transposed on its way into a product."""

from __future__ import annotations

import paddle

from spokeshave.graph import Step
from spokeshave.program.rewriting import Editor, Found, Rewrite
from spokeshave.report import Reason


class UntransposeWeight(Rewrite):
    """`matmul(x, transpose(w))` becomes `matmul(x, w, transpose_y=True)`: the weight is read as it lies.

    The product then has a parameter for its weight, which can be quantized. Exact.

    ## What is left alone
    A transpose of more than two axes, and one of something that is no parameter.
    """

    name = "untranspose-weight"
    steps = (Step("transpose", ("pd_op.transpose",), operand="y"), Step("matmul", ("pd_op.matmul",)))

    def check(self, found: Found) -> Reason | None:
        transpose = found.match["transpose"]
        if not found.view.is_parameter(transpose.operand("x")):
            return found.declined("not-a-parameter", transpose, "what it transposes is computed")
        if tuple(transpose.attrs["perm"]) != (1, 0):
            return found.declined("not-a-matrix", transpose, "it is not the transpose of a matrix")
        return None

    def apply(self, found: Found, editor: Editor) -> None:
        transpose, matmul = found.match["transpose"], found.match["matmul"]
        x, weight = editor.value(matmul.operand("x") or ""), editor.value(transpose.operand("x") or "")
        flags = bool(matmul.attrs["transpose_x"]), not matmul.attrs["transpose_y"]
        product = editor.before(matmul, lambda: paddle.matmul(x, weight, *flags))
        editor.rewire(matmul.out, product)
