"""Weights into nets: from every form, whole or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import paddle
import pytest
from paddle import static
from paddle.utils import unique_name
from safetensors.numpy import save_file

from spokeshave.errors.models import CodeInWeights, NoWeights, WeightsOfAnotherNet, WeightsUnreadable
from spokeshave.errors.registry import UnknownName
from spokeshave.errors.select import RuleMatchedNothing
from spokeshave.models import MobileNet, create, load_weights, read_weights
from spokeshave.program.weights import weights_parts
from spokeshave.seams import parameter_ops, read_tensor


def lenet(seed: int, **settings: Any) -> Any:
    paddle.seed(seed)
    return create("lenet", **settings)


def small(seed: int) -> Any:
    """A net with batch norm, and with statistics that are not those it starts with."""
    paddle.seed(seed)
    net = create("mobilenet_v1", num_classes=10, scale=0.25)
    net(paddle.rand([4, 3, 28, 28]))
    return net


def weights_of(net: Any) -> dict[str, np.ndarray]:
    return {name: value.numpy() for name, value in net.state_dict().items()}


def assert_same(net: Any, expected: dict[str, np.ndarray]) -> None:
    found = weights_of(net)
    assert set(found) == set(expected)
    for name, array in expected.items():
        np.testing.assert_array_equal(found[name], array, err_msg=name)


def write_folder(folder: Path, weights: dict[str, np.ndarray]) -> Path:
    """As fluid wrote it: a file of one record for each parameter."""
    folder.mkdir()
    for name, array in weights.items():
        parts = weights_parts({name: (array.shape, str(array.dtype))}, weights.__getitem__)
        (folder / name).write_bytes(b"".join(parts))
    return folder


@contextmanager
def built() -> Iterator[tuple[Any, Any]]:
    """A static MobileNet of a quarter of the width, with fresh weights in a scope of its own."""
    paddle.enable_static()
    main, startup, scope = static.Program(), static.Program(), static.Scope()
    try:
        with static.scope_guard(scope), unique_name.guard():
            with static.program_guard(main, startup):
                MobileNet().net(static.data("image", [None, 3, 28, 28], "float32"), 10, scale=0.25)
            static.Executor(paddle.CPUPlace()).run(startup)
            yield main, scope
    finally:
        paddle.disable_static()


@pytest.mark.parametrize("protocol", [2, 3, 4])
def test_what_paddle_saved_loads(tmp_path: Path, protocol: int) -> None:
    trained = small(1)
    paddle.save(trained.state_dict(), str(tmp_path / "net.pdparams"), protocol=protocol)
    net = small(2)
    assert load_weights(net, tmp_path / "net.pdparams") == ()
    assert_same(net, weights_of(trained))


def test_the_ending_may_be_left_out_as_old_scripts_do(tmp_path: Path) -> None:
    trained = lenet(1)
    paddle.save(trained.state_dict(), str(tmp_path / "net.pdparams"))
    net = lenet(2)
    load_weights(net, str(tmp_path / "net"))
    assert_same(net, weights_of(trained))


def test_tensors_that_were_not_in_a_state_dict_of_paddle_load_too(tmp_path: Path) -> None:
    trained = lenet(1)
    paddle.save({**trained.state_dict(), "more": [1]}, str(tmp_path / "more.pdparams"))
    with pytest.raises(WeightsUnreadable, match="'more' is a list"):
        read_weights(tmp_path / "more.pdparams")
    paddle.save(dict(trained.state_dict()), str(tmp_path / "net.pdparams"))
    assert_same(trained, read_weights(tmp_path / "net.pdparams"))


def test_safetensors_load(tmp_path: Path) -> None:
    trained = small(1)
    save_file(weights_of(trained), str(tmp_path / "net.safetensors"), metadata={"made": "here"})
    net = small(2)
    assert load_weights(net, tmp_path / "net.safetensors") == ()
    assert_same(net, weights_of(trained))


def test_what_a_file_is_is_seen_in_its_bytes(tmp_path: Path) -> None:
    trained = lenet(1)
    save_file(weights_of(trained), str(tmp_path / "weights"))
    assert_same(trained, read_weights(tmp_path / "weights"))
    paddle.save(trained.state_dict(), str(tmp_path / "pickle.bin"))
    assert_same(trained, read_weights(tmp_path / "pickle.bin"))


def test_a_folder_of_one_file_each_loads_into_a_program(tmp_path: Path) -> None:
    random = np.random.RandomState(0)
    with built() as (main, scope):
        shapes = {name: op.result(0).shape for name, op in parameter_ops(main).items()}
        weights = {name: random.rand(*shape).astype(np.float32) for name, shape in shapes.items()}
        folder = write_folder(tmp_path / "pretrained", weights)
        (folder / "__model__").write_bytes(b"a program that is not read")
        assert load_weights(main, folder, scope=scope) == ()
        for name, array in weights.items():
            np.testing.assert_array_equal(read_tensor(scope, name), array)


def test_a_folder_may_hold_more_than_the_net_when_that_is_said(tmp_path: Path) -> None:
    with built() as (main, scope):
        weights = {name: read_tensor(scope, name) for name in parameter_ops(main)}
        folder = write_folder(tmp_path / "p", {**weights, "fc7_offset_velocity_0": weights["fc7_offset"]})
        (folder / "README").write_text("trained by somebody")
        with pytest.raises(WeightsOfAnotherNet) as caught:
            load_weights(main, folder, scope=scope, ignore=["README"])
        assert caught.value.unexpected == ("fc7_offset_velocity_0",)
        left = load_weights(main, folder, scope=scope, ignore=["README", "*_velocity_0", "fc7_*"])
        assert {reason.subject for reason in left} >= {"fc7_weights", "fc7_offset"}
        assert {reason.code for reason in left} == {"ignored"}


def test_what_paddle_saved_of_a_program_loads_into_it(tmp_path: Path) -> None:
    with built() as (main, scope):
        static.save(main, str(tmp_path / "net"))
        expected = {name: read_tensor(scope, name) for name in parameter_ops(main)}
        other = static.Scope()
        load_weights(main, tmp_path / "net.pdparams", scope=other)
        for name, array in expected.items():
            np.testing.assert_array_equal(read_tensor(other, name), array)


def test_weights_of_a_layer_load_into_a_program_of_that_layer(tmp_path: Path) -> None:
    with unique_name.guard():
        trained = lenet(1)
    paddle.save(trained.state_dict(), str(tmp_path / "net.pdparams"))
    paddle.enable_static()
    try:
        main, scope = static.Program(), static.Scope()
        with static.program_guard(main, static.Program()), unique_name.guard():
            net = create("lenet")
            net(static.data("image", [None, 1, 28, 28], "float32"))
        load_weights(main, tmp_path / "net.pdparams", scope=scope)
        np.testing.assert_array_equal(read_tensor(scope, "conv2d_0.w_0"), trained.features[0].weight.numpy())
        other = static.Scope()
        load_weights(net, tmp_path / "net.pdparams", scope=other)
        np.testing.assert_array_equal(read_tensor(other, "linear_2.b_0"), trained.classifier[4].bias.numpy())
    finally:
        paddle.disable_static()


def test_pytorchs_names_and_matrices_are_read_as_such(tmp_path: Path) -> None:
    random = np.random.RandomState(0)
    net = paddle.nn.Sequential(paddle.nn.Linear(5, 5), paddle.nn.BatchNorm1D(5))
    torch = {
        "module.0.weight": random.rand(5, 5).astype(np.float32),
        "module.0.bias": random.rand(5).astype(np.float32),
        **{f"module.1.{n}": random.rand(5).astype(np.float32) for n in ("weight", "bias")},
        **{f"module.1.running_{n}": random.rand(5).astype(np.float32) for n in ("mean", "var")},
        "module.1.num_batches_tracked": np.array(7),
    }
    save_file(torch, str(tmp_path / "net.safetensors"))
    left = load_weights(net, tmp_path / "net.safetensors")
    assert [(r.code, r.subject) for r in left] == [("no-place", "module.1.num_batches_tracked")]
    # Square, so that only the name says which way round it is.
    np.testing.assert_array_equal(net[0].weight.numpy(), torch["module.0.weight"].T)
    np.testing.assert_array_equal(net[1]._mean.numpy(), torch["module.1.running_mean"])
    np.testing.assert_array_equal(net[1]._variance.numpy(), torch["module.1.running_var"])


def test_who_made_the_weights_can_be_said_where_names_do_not_tell(tmp_path: Path) -> None:
    net = paddle.nn.Linear(5, 5)
    matrix = np.arange(25, dtype=np.float32).reshape(5, 5)
    save_file({"weight": matrix, "bias": np.zeros(5, np.float32)}, str(tmp_path / "a.safetensors"))
    load_weights(net, tmp_path / "a.safetensors")
    np.testing.assert_array_equal(net.weight.numpy(), matrix)
    load_weights(net, tmp_path / "a.safetensors", made_by="torch")
    np.testing.assert_array_equal(net.weight.numpy(), matrix.T)
    with pytest.raises(UnknownName, match=r"no maker of weights named 'toch'.*torch"):
        load_weights(net, tmp_path / "a.safetensors", made_by="toch")


def test_names_of_ones_own_can_be_told(tmp_path: Path) -> None:
    net = paddle.nn.Linear(2, 3)
    save_file(
        {"w": np.ones((2, 3), np.float32), "b": np.ones(3, np.float32)}, str(tmp_path / "a.safetensors")
    )
    load_weights(net, tmp_path / "a.safetensors", names={"w": "weight", "b": "bias"})
    assert net.weight.numpy().min() == 1


@pytest.mark.parametrize("dtype", ["float16", "float64", "bfloat16"])
def test_floats_are_cast_to_what_the_net_has(tmp_path: Path, dtype: str) -> None:
    net = paddle.nn.Linear(2, 2)
    values = np.array([[1.5, -2.25], [0.0078125, 1024]], np.float32)  # exact in each of the types
    tensors = {"weight": paddle.to_tensor(values).astype(dtype), "bias": paddle.zeros([2], dtype)}
    paddle.save(tensors, str(tmp_path / "a.pdparams"))
    load_weights(net, tmp_path / "a.pdparams")
    assert net.weight.numpy().dtype == np.float32
    np.testing.assert_array_equal(net.weight.numpy(), values)


def test_a_net_of_bfloat16_takes_floats_rounded_to_even(tmp_path: Path) -> None:
    net = paddle.nn.Linear(1, 3).to(dtype="bfloat16")
    values = np.array([1 + 2**-8, 1 + 3 * 2**-8, -3.1415927], np.float32)
    save_file({"weight": values[None], "bias": values}, str(tmp_path / "a.safetensors"))
    load_weights(net, tmp_path / "a.safetensors")
    expected = paddle.to_tensor(values).astype("bfloat16").astype("float32").numpy()
    np.testing.assert_array_equal(net.bias.astype("float32").numpy(), expected)


def test_integers_do_not_pass_for_floats(tmp_path: Path) -> None:
    net = paddle.nn.Linear(2, 2)
    save_file(
        {"weight": np.ones((2, 2), np.int8), "bias": np.ones(2, np.float32)}, str(tmp_path / "a.safetensors")
    )
    with pytest.raises(WeightsOfAnotherNet, match=r"weight is int8\[2, 2\] and should be float32\[2, 2\]"):
        load_weights(net, tmp_path / "a.safetensors")


def test_a_mismatch_lists_everything_and_loads_nothing(tmp_path: Path) -> None:
    weights = weights_of(lenet(1))
    weights["extra"] = weights.pop("features.0.bias")
    weights["classifier.4.bias"] = np.zeros(7, np.float32)
    save_file(weights, str(tmp_path / "a.safetensors"))
    net = lenet(2)
    before = weights_of(net)
    with pytest.raises(WeightsOfAnotherNet) as caught:
        load_weights(net, tmp_path / "a.safetensors")
    assert_same(net, before)
    error = caught.value
    assert (error.missing, error.unexpected) == (("features.0.bias",), ("extra",))
    assert error.misshaped == ("classifier.4.bias is float32[7] and should be float32[10]",)
    assert "Missing: features.0.bias. Unexpected: extra. Misshaped: classifier.4.bias is" in str(error)


def test_a_long_list_is_shortened_in_the_text_and_whole_in_the_error(tmp_path: Path) -> None:
    save_file(weights_of(lenet(1)), str(tmp_path / "a.safetensors"))
    with pytest.raises(WeightsOfAnotherNet, match=r"Missing: .* and \d+ more\. Unexpected: ") as caught:
        load_weights(small(1), tmp_path / "a.safetensors")
    assert len(caught.value.missing) == 27 * 5 + 2
    assert len(caught.value.unexpected) == 10
    assert len(str(caught.value)) < 1000


def test_a_classifier_can_be_left_as_it_is(tmp_path: Path) -> None:
    trained = lenet(1)
    save_file(weights_of(trained), str(tmp_path / "a.safetensors"))
    net = lenet(2, num_classes=3)
    before = weights_of(net)
    left = load_weights(net, tmp_path / "a.safetensors", ignore=["classifier.4.*"])
    assert {r.subject for r in left} == {"classifier.4.weight", "classifier.4.bias"}
    np.testing.assert_array_equal(net.classifier[4].weight.numpy(), before["classifier.4.weight"])
    np.testing.assert_array_equal(net.classifier[2].weight.numpy(), trained.classifier[2].weight.numpy())


def test_a_pattern_that_leaves_nothing_out_is_an_error(tmp_path: Path) -> None:
    save_file(weights_of(lenet(1)), str(tmp_path / "a.safetensors"))
    with pytest.raises(RuleMatchedNothing, match=r"'clasifier.4.bias' matches nothing.*classifier.4.bias"):
        load_weights(lenet(2), tmp_path / "a.safetensors", ignore=["clasifier.4.bias"])


def test_where_there_are_no_weights_that_is_said(tmp_path: Path) -> None:
    with pytest.raises(NoWeights, match="no such file"):
        load_weights(lenet(1), tmp_path / "nothing.pdparams")
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "__model__").write_bytes(b"")
    with pytest.raises(NoWeights, match="no file of a parameter"):
        load_weights(lenet(1), tmp_path / "empty")


@pytest.mark.parametrize("content", [b"", b"text of some kind", b"\x80", b"\x00" * 40, b"{}"])
@pytest.mark.parametrize("name", ["a.pdparams", "a.safetensors", "a.bin"])
def test_a_file_of_something_else_is_refused(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(WeightsUnreadable, match=name):
        read_weights(tmp_path / name)


def test_paddle_load_would_have_called_what_we_refuse(tmp_path: Path) -> None:
    """The very file: the danger is real, and reading it here leaves no trace."""
    marker, file = tmp_path / "marker", tmp_path / "evil.pdparams"
    file.write_bytes(b"cos\nsystem\n(S'touch " + str(marker).encode() + b"'\ntR.")
    with pytest.raises(CodeInWeights, match=r"os\.system"):
        load_weights(lenet(1), file)
    assert not marker.exists()
    paddle.load(str(file))
    assert marker.exists()
