"""The static nets: the names that tutorials and weight files count on, and that they train."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import paddle
import pytest
from paddle import static
from paddle.utils import unique_name

import spokeshave.models
from spokeshave import slim
from spokeshave.data import digits
from spokeshave.errors.models import NeedsStaticMode, NotPictures, ParameterTaken
from spokeshave.seams import (
    clone,
    named_value,
    named_values,
    parameter_ops,
    read_tensor,
    set_test_mode,
    write_tensor,
)

NAMES = ["MobileNet", "MobileNetV2", "ResNet34", "ResNet50"]
every_net = pytest.mark.parametrize("name", NAMES)


@pytest.fixture(autouse=True)
def _static_mode() -> Iterator[None]:
    """Static mode, names from zero and a scope of its own, for each test."""
    paddle.enable_static()
    with unique_name.guard(), static.scope_guard(static.Scope()):
        yield
    paddle.disable_static()


class Built:
    """Programs with one net in them."""

    def __init__(self, name: str, channels: int = 1, classes: int = 10, **options: Any) -> None:
        self.main, self.startup = static.Program(), static.Program()
        with static.program_guard(self.main, self.startup):
            self.image = static.data("image", [None, channels, None, None], "float32")
            self.out = getattr(slim.models, name)(**options).net(input=self.image, class_dim=classes)

    def parameters(self) -> dict[str, tuple[int, ...]]:
        return {name: tuple(op.result(0).shape) for name, op in parameter_ops(self.main).items()}

    def trainable_count(self) -> int:
        values = [op.result(0) for op in parameter_ops(self.main).values()]
        return sum(int(np.prod(value.shape)) for value in values if value.trainable)


def _named(program: Any, name: str) -> Any:
    value = named_value(program, name)
    assert value is not None, f"{name} is no name of {sorted(named_values(program))}"
    return value


def _maker(program: Any, name: str) -> str:
    return str(_named(program, name).get_defining_op().name())


def _filter_of(program: Any, name: str) -> str:
    filters = _named(program, name).get_defining_op().operand_source(1)
    return str(filters.get_defining_op().str_attr("parameter_name"))


def test_the_nets_are_attributes_of_the_module_as_scripts_look_them_up() -> None:
    from spokeshave.slim import models

    assert set(NAMES) <= set(models.__dict__)
    assert models.__dict__["MobileNet"] is slim.models.MobileNet is spokeshave.models.MobileNet
    assert slim.models.ResNet50().layers == spokeshave.models.ResNet50().layers == 50


def test_mobilenet_has_the_parameters_that_patterns_and_weight_files_name() -> None:
    shapes = Built("MobileNet", channels=3, classes=1000).parameters()
    assert len(shapes) == 27 * 5 + 2
    assert shapes["conv1_weights"] == (32, 3, 3, 3)
    assert {f"conv1_bn_{p}" for p in ("scale", "offset", "mean", "variance")} <= set(shapes)
    assert shapes["conv2_1_dw_weights"] == (32, 1, 3, 3)
    assert shapes["conv2_1_dw_bn_variance"] == (32,)
    assert shapes["conv2_1_sep_weights"] == (64, 32, 1, 1)
    assert shapes["conv5_6_sep_weights"] == (1024, 512, 1, 1)
    assert shapes["conv6_sep_bn_offset"] == (1024,)
    assert (shapes["fc7_weights"], shapes["fc7_offset"]) == ((1024, 1000), (1000,))


def test_mobilenet_v2_has_the_parameters_that_patterns_and_weight_files_name() -> None:
    shapes = Built("MobileNetV2", channels=3, classes=1000).parameters()
    assert len(shapes) == (2 + 17 * 3) * 5 + 2
    assert shapes["conv1_1_weights"] == (32, 3, 3, 3)
    assert shapes["conv2_1_expand_weights"] == (32, 32, 1, 1)
    assert shapes["conv2_1_dwise_weights"] == (32, 1, 3, 3)
    assert shapes["conv2_1_linear_bn_mean"] == (16,)
    assert shapes["conv4_3_expand_weights"] == (192, 32, 1, 1)
    assert shapes["conv8_1_linear_weights"] == (320, 960, 1, 1)
    assert shapes["conv9_weights"] == (1280, 320, 1, 1)
    assert (shapes["fc10_weights"], shapes["fc10_offset"]) == ((1280, 1000), (1000,))


def test_resnets_have_the_parameters_that_patterns_and_weight_files_name() -> None:
    deep, plain = (Built(n, channels=3, classes=1000).parameters() for n in ("ResNet50", "ResNet34"))
    assert (len(deep), len(plain)) == (53 * 5 + 2, 37 * 5 + 2)
    assert deep["conv1_weights"] == plain["conv1_weights"] == (64, 3, 7, 7)
    assert {f"bn_conv1_{p}" for p in ("scale", "offset", "mean", "variance")} <= set(deep) & set(plain)
    assert deep["res2a_branch2a_weights"] == (64, 64, 1, 1)
    assert deep["bn2a_branch2a_scale"] == (64,)
    assert deep["res2a_branch1_weights"] == (256, 64, 1, 1)
    assert plain["res2a_branch1_weights"] == (64, 64, 1, 1)
    assert deep["res4f_branch2c_weights"] == (1024, 256, 1, 1)
    assert plain["res5c_branch2b_weights"] == (512, 512, 3, 3)
    assert (deep["fc_0.w_0"], plain["fc_1.w_0"]) == ((2048, 1000), (512, 1000))
    assert deep["fc_0.b_0"] == (1000,)


@pytest.mark.parametrize(
    ("name", "published", "extra"),
    [
        ("MobileNet", 4.23e6, 0),
        ("MobileNetV2", 3.50e6, 32 * 32 + 64),  # the first block's expansion, of 32 channels to 32
        ("ResNet34", 21.80e6, 64 * 64 + 128),  # the first block's convolution in its shortcut
        ("ResNet50", 25.56e6, 0),
    ],
)
def test_a_net_has_the_published_number_of_weights(name: str, published: float, extra: int) -> None:
    # The figures have three digits.
    assert Built(name, channels=3, classes=1000).trainable_count() == pytest.approx(
        published + extra, rel=0.002
    )


def test_mobilenets_values_have_the_names_that_configurations_say() -> None:
    built = Built("MobileNet")
    assert _maker(built.main, "fc_0.tmp_0") == "pd_op.matmul"
    assert _maker(built.main, "fc_0.tmp_1") == "pd_op.add"
    assert _named(built.main, "fc_0.tmp_2").is_same(built.out)
    assert _maker(built.main, "batch_norm_0.tmp_2") == "pd_op.batch_norm_"
    assert _maker(built.main, "pool2d_0.tmp_0") == "pd_op.pool2d"
    # Of the same size, as two values that are distilled together must be.
    assert _filter_of(built.main, "depthwise_conv2d_1.tmp_0") == "conv2_2_dw_weights"
    assert _filter_of(built.main, "conv2d_3.tmp_0") == "conv3_1_sep_weights"


def test_resnets_values_are_named_after_their_layers() -> None:
    built = Built("ResNet50")
    assert _maker(built.main, "res2a_branch2a.conv2d.output.1.tmp_0") == "pd_op.conv2d"
    assert _maker(built.main, "bn2a_branch2a.output.1.tmp_3") == "pd_op.relu"
    assert _maker(built.main, "res2a.add.output.5.tmp_1") == "pd_op.relu"
    assert _named(built.main, "fc_0.tmp_2").is_same(built.out)


def test_a_prefix_stands_before_every_name_as_tutorials_rename_the_files() -> None:
    bare, teacher = Built("ResNet50"), Built("ResNet50", prefix_name="res50")
    renamed = {f"res50_{name}" for name in bare.parameters() if not name.startswith("fc_")}
    assert renamed | {"fc_1.w_0", "fc_1.b_0"} == set(teacher.parameters())
    assert "res50_res3a_branch2a.conv2d.output.1.tmp_0" in named_values(teacher.main)
    for name in ("MobileNet", "MobileNetV2"):
        with_prefix = Built(name, prefix_name="student").parameters()
        assert set(with_prefix) == {f"student_{n}" for n in Built(name).parameters()}


def test_the_last_layer_of_a_resnet_takes_the_name_that_net_is_told() -> None:
    with static.program_guard(static.Program(), static.Program()):
        image = static.data("image", [None, 3, 32, 32], "float32")
        out = slim.models.ResNet50(prefix_name="res50").net(image, 10, fc_name="fc_0", conv1_name="res_conv1")
        program = static.default_main_program()
        assert _named(program, "res50_fc_0.tmp_2").is_same(out)
        assert {"res50_fc_0.w_0", "res50_res_conv1_weights", "res50_bn_conv1_scale"} <= set(
            parameter_ops(program)
        )


def test_a_prefix_may_be_set_after_the_net_was_made() -> None:
    model = slim.models.ResNet34()
    model.prefix_name = "res34"
    with static.program_guard(static.Program(), static.Program()):
        model.net(static.data("image", [None, 3, 32, 32], "float32"), 10)
        assert "res34_res2a_branch2a_weights" in parameter_ops(static.default_main_program())


@every_net
def test_two_nets_in_one_program_share_parameters_and_never_names(name: str) -> None:
    with static.program_guard(static.Program(), static.Program()):
        image = static.data("image", [None, 1, 28, 28], "float32")
        model = getattr(slim.models, name)()
        first = model.net(image, 10)
        program = static.default_main_program()
        before = set(parameter_ops(program))
        second = model.net(image, 10)
        found = named_values(program)
        assert found["fc_0.tmp_2"].is_same(first)
        assert found["fc_1.tmp_2"].is_same(second)
        # Those of the ResNets' last layers count up; all others have fixed names.
        assert set(parameter_ops(program)) - before <= {"fc_1.w_0", "fc_1.b_0"}
        count = sum(op.name() == "builtin.parameter" for op in program.global_block().ops)
        assert count == len(parameter_ops(program))


def test_names_pass_over_those_that_the_program_has() -> None:
    with static.program_guard(static.Program(), static.Program()):
        image = static.data("image", [None, 1, 28, 28], "float32")
        with unique_name.guard():
            slim.models.MobileNet("a").net(image, 10)
        with unique_name.guard():
            out = slim.models.MobileNet("b").net(image, 10)
        assert _named(static.default_main_program(), "fc_1.tmp_2").is_same(out)


@every_net
def test_a_net_trains_with_momentum_and_its_clone_tests(name: str) -> None:
    images, labels = (array[:8] for array in digits("train"))
    main, startup = static.Program(), static.Program()
    paddle.seed(1)
    with static.program_guard(main, startup):
        image = static.data("image", [None, 1, 28, 28], "float32")
        label = static.data("label", [None, 1], "int64")
        out = getattr(slim.models, name)().net(input=image, class_dim=10)
        # The nets end in a softmax, so that the loss must not have another.
        loss = paddle.mean(paddle.nn.functional.cross_entropy(out, label, use_softmax=False))
        test, mapping = clone(main)
        # So short that only a wrong gradient leads uphill.
        paddle.optimizer.Momentum(1e-4, 0.9).minimize(loss)
    set_test_mode(test)
    executor = static.Executor(paddle.CPUPlace())
    executor.run(startup)
    feed = {"image": images, "label": labels}
    losses = [float(executor.run(main, feed=feed, fetch_list=[loss])[0]) for _ in range(2)]
    assert losses[1] < losses[0]
    shares = executor.run(test, feed=feed, fetch_list=[mapping.look_up(out)])[0]
    assert shares.shape == (8, 10)
    np.testing.assert_allclose(shares.sum(axis=1), 1, rtol=1e-5)
    one_by_one = executor.run(
        test, feed={"image": images[:1], "label": labels[:1]}, fetch_list=[mapping.look_up(out)]
    )[0]
    # In test mode a picture's result does not hang on the others; products may be summed in another order.
    np.testing.assert_allclose(one_by_one, shares[:1], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("size", [(28, 28), (33, 47)])
@every_net
def test_a_net_takes_any_channels_and_pictures_from_28_pixels(name: str, size: tuple[int, int]) -> None:
    built = Built(name, channels=4, classes=7)
    executor = static.Executor(paddle.CPUPlace())
    executor.run(built.startup)
    images = np.zeros((2, 4, *size), np.float32)
    assert executor.run(built.main, feed={"image": images}, fetch_list=[built.out])[0].shape == (2, 7)


@pytest.mark.parametrize(("name", "layer"), [("MobileNet", "mobilenet_v1"), ("ResNet50", "resnet50")])
def test_a_static_net_gives_what_the_layer_of_its_kind_gives(name: str, layer: str) -> None:
    built = Built(name)
    executor = static.Executor(paddle.CPUPlace())
    executor.run(built.startup)
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        image = static.data("image", [None, 1, None, None], "float32")
        twin = spokeshave.models.create(layer, num_classes=10, in_channels=1)
        out = paddle.nn.functional.softmax(twin(image))
    executor.run(startup)
    theirs, ours = _weights(main), _weights(built.main)
    assert len(theirs) == len(ours)
    scope = static.global_scope()
    for source, target in zip(theirs, ours):
        write_tensor(scope, target, read_tensor(scope, source))
    images = np.random.RandomState(0).rand(4, 1, 64, 64).astype(np.float32)
    expected, found = (
        executor.run(program, feed={"image": images}, fetch_list=[value])[0]
        for program, value in ((main, out), (built.main, built.out))
    )
    # The same kernels on the same numbers; only the order of a fused bias may differ.
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def _weights(program: Any) -> list[str]:
    """Names of filters, of the matrix and of its bias, in the order in which they are read."""
    readers = ("pd_op.conv2d", "pd_op.depthwise_conv2d", "pd_op.matmul", "pd_op.add")
    ops = [op for op in program.global_block().ops if op.name() in readers]
    makers = [op.operand_source(1).get_defining_op() for op in ops]
    return [str(m.str_attr("parameter_name")) for m in makers if m.name() == "builtin.parameter"]


def test_a_static_net_says_that_it_needs_static_mode() -> None:
    paddle.disable_static()
    with pytest.raises(NeedsStaticMode, match="dynamic mode"):
        slim.models.MobileNet().net(paddle.zeros([1, 3, 28, 28]))


@pytest.mark.parametrize("shape", [[None, 784], [None, None, 28, 28]])
def test_a_net_says_when_it_is_not_given_pictures(shape: list[Any]) -> None:
    with static.program_guard(static.Program(), static.Program()), pytest.raises(NotPictures):
        slim.models.MobileNet().net(static.data("image", shape, "float32"))


def test_a_second_net_of_another_width_says_whose_parameters_it_would_share() -> None:
    with static.program_guard(static.Program(), static.Program()):
        image = static.data("image", [None, 3, 28, 28], "float32")
        slim.models.MobileNet().net(image, 10)
        with pytest.raises(
            ParameterTaken, match=r"'conv1_weights' of shape \[32, 3, 3, 3\].*\[16, 3, 3, 3\]"
        ):
            slim.models.MobileNet().net(image, 10, scale=0.5)
