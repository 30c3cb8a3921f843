"""Programs: their Variables, names, printed form, clones, and what cannot be built."""

from __future__ import annotations

import numpy as np
import pytest

import opkit.paddle as paddle
from opkit import ops, static
from opkit.errors import ShapeError, UsageError
from opkit.ir import Program, TensorDesc, VariableNotFoundError
from opkit.ops.core.registry import BUILTIN
from opkit.static.parameters import create_state
from tests.static.nets import X, fed, made, py_tanh, run


def test_create_var_twice() -> None:
    """The same name with the same shape and dtype is the same Variable; with another one an error."""
    assert made("a") is made("a")
    with pytest.raises(UsageError, match=r"'a' exists as float32\[2, 3\].*float32\[2, 4\]"):
        made("a", (2, 4))
    with pytest.raises(UsageError, match="int64"):
        made("a", dtype="int64")


def test_names() -> None:
    """Names follow Paddle's: operators tmp_N, layers LAYER_N, generated ones _generated_var_N."""
    x = fed()
    assert (x + 1.0).name == "tmp_0"
    assert paddle.mean(x).name == "mean_0.tmp_0"
    y = paddle.static.nn.fc(x, 2, activation="tanh")
    assert y.name == "fc_0.tmp_2"
    assert {"fc_0.w_0", "fc_0.b_0", "fc_0.tmp_0", "fc_0.tmp_1"} <= set(
        static.default_main_program().global_block().vars
    )
    block = static.default_main_program().current_block()
    assert block.create_var(shape=[1]).name == "_generated_var_0"


def test_a_name_that_a_script_took_is_not_given_again() -> None:
    """A made name steps around one that a script has taken."""
    made("tmp_0")
    assert (fed() + 1.0).name != "tmp_0"


def test_block_var() -> None:
    """An unknown name is a ValueError that offers the nearest."""
    made("hidden_1")
    with pytest.raises(VariableNotFoundError, match=r"'hiden_1'.*\n.*hidden_1") as caught:
        static.default_main_program().global_block().var("hiden_1")
    assert isinstance(caught.value, ValueError)


def test_sizes_that_are_not_known() -> None:
    """None and -1 stand for any size; shapes are tuples."""
    x = fed(shape=[None, 3])
    assert x.shape == (-1, 3)
    assert (x * 2.0).shape == (-1, 3)
    assert paddle.matmul(x, x, transpose_y=True).shape == (-1, -1)


def test_infer_errors_name_the_users_line() -> None:
    """Shapes that do not fit are refused when the op is added, with the line in a note."""
    x, y = fed(), fed("y", (4, 5))
    with pytest.raises(ShapeError) as caught:
        paddle.matmul(x, y)
    assert any(__file__ in note for note in caught.value.__notes__)


def test_variables_of_another_program() -> None:
    """A Variable of one program cannot be used in another."""
    x = fed()
    with static.program_guard(Program(), Program()), pytest.raises(ValueError, match="'x' does not belong to the program"):
        paddle.tanh(x)


def test_operators_build_in_their_variables_program() -> None:
    """Outside of program_guard an operator appends to the program of its operand, as in Paddle."""
    main = Program()
    with paddle.static.program_guard(main, Program()):
        x = paddle.static.data("x", [-1, 2])
    y = 2 * x + 1
    assert y.block.program is main
    (found,) = paddle.static.Executor().run(main, feed={"x": np.ones((1, 2), "float32")}, fetch_list=[y])
    np.testing.assert_array_equal(found, [[3, 3]])


def test_a_variable_prints_as_in_paddle() -> None:
    """Kind, name, shape, dtype and flag."""
    assert str(fed()).startswith("var x : LOD_TENSOR.shape(")
    weight = paddle.static.create_parameter([3], "float32", name="held")
    expected = "persist trainable param held : LOD_TENSOR.shape(3,).dtype(float32).stop_gradient(False)"
    assert str(weight) == expected


def test_tensors_and_arrays_in_a_graph() -> None:
    """An array next to a Variable becomes a constant; a Tensor of dynamic mode is an error."""
    x = fed()
    np.testing.assert_array_equal(run(fetch=[x + np.ones((2, 3), np.float32)])[0], X + 1)
    static.disable_static()
    tensor = paddle.ones([2, 3])
    static.enable_static()
    with pytest.raises(UsageError, match="dynamic mode"):
        paddle.add(x, tensor)


def test_data_of_a_variable() -> None:
    """A Variable has no data while a graph is built; bool of one is True."""
    x = fed()
    with pytest.raises(TypeError, match="'x' has no data"):
        float(x)
    with pytest.raises(TypeError, match="'x' has no data"):
        np.array(x)
    assert x == x


def test_printed_form() -> None:
    """A program prints its Variables, then one op a line; the same program prints the same text."""
    x = fed(shape=[None, 3])
    py_tanh(x, "o")
    static.py_func(lambda v: None, x, None)
    expected = """\
{ // block 0
    data x: float32[?, 3]
    var o: float32[?, 3]

    o = py_func[tanh](x)
    py_func[<lambda>](x)
}"""
    assert str(static.default_main_program()) == expected
    assert f"// {__file__}:" not in expected
    assert __file__.replace("test_programs", "nets") in static.default_main_program().to_string(with_details=True)


# ---- clones ----------------------------------------------------------------------------------------------------------
def test_clone_for_test_has_no_training() -> None:
    """A clone for test lacks backward and updates, wherever it is made; py_func stays; the original is untouched."""
    x = fed(stops=True)
    hidden = py_tanh(paddle.static.nn.fc(x, 4), "o")
    loss = paddle.mean(hidden)
    early = static.default_main_program().clone(for_test=True)
    paddle.optimizer.SGD(0.5).minimize(loss)
    late = static.default_main_program().clone(for_test=True)
    whole = static.default_main_program().clone()
    types = [[op.type for op in program.global_block().ops] for program in (early, late)]
    assert types[0] == types[1]
    assert "py_func" in types[0]
    executor = static.Executor()
    executor.run(paddle.static.default_startup_program())
    first = executor.run(late, feed={"x": X}, fetch_list=[loss])[0]
    assert executor.run(late, feed={"x": X}, fetch_list=[loss])[0] == first
    executor.run(whole, feed={"x": X}, fetch_list=[loss])
    assert executor.run(late, feed={"x": X}, fetch_list=[loss])[0] != first


def test_clone_for_test_switches_dropout_off() -> None:
    """Dropout gives its input in a clone for test."""
    x = fed()
    y = paddle.nn.functional.dropout(x, 0.5) * 2.0
    test = static.default_main_program().clone(for_test=True)
    np.testing.assert_array_equal(run(fetch=[y], program=test)[0], X * 2)


def test_clone_for_test_scales_what_training_left_unscaled() -> None:
    """Dropout that does not scale up in training scales down in a clone for test."""
    y = paddle.nn.functional.dropout(fed(), 0.25, mode="downscale_in_infer")
    test = static.default_main_program().clone(for_test=True)
    np.testing.assert_array_equal(run(fetch=[y], program=test)[0], X * np.float32(0.75))


def test_clone_for_test_keeps_what_dropout_adds() -> None:
    """Dropout with something to add to its output gives input plus addend in a clone for test."""
    x = fed()
    mask = ops.random_mask_like(x, 0.5)
    y = ops.apply(BUILTIN.get("dropout"), (x, mask, x), {"scale": 2.0})
    test = static.default_main_program().clone(for_test=True)
    np.testing.assert_array_equal(run(fetch=[y], program=test)[0], X * 2)


def test_clone_for_test_reads_what_was_there_before_training() -> None:
    """What a training op wrote is read unchanged after it in a clone for test."""
    x = fed(shape=[None, 3], stops=True)
    kept = create_state("kept", TensorDesc((3,), "float32"), 1.0)
    ops.apply(BUILTIN.get("moving_average_update"), (kept, ops.reduce_mean(x, 0)), {"momentum": 0.5})
    y = x * kept
    test = static.default_main_program().clone(for_test=True)
    executor = static.Executor()
    executor.run(paddle.static.default_startup_program())
    np.testing.assert_array_equal(executor.run(test, feed={"x": X}, fetch_list=[y])[0], X)
    np.testing.assert_allclose(executor.run(feed={"x": X}, fetch_list=[y])[0], X * (0.5 + 0.5 * X.mean(0)), rtol=1e-6)


@pytest.mark.parametrize("training", [True, False])
def test_normalization_writes_its_statistics_in_training_alone(training: bool) -> None:
    """Normalization is recorded as writing its moving averages where it trains, and nothing elsewhere."""
    x = fed(shape=[None, 3], stops=True)
    mean = create_state("mean", TensorDesc((3,), "float32"), 0.0)
    variance = create_state("variance", TensorDesc((3,), "float32"), 1.0)
    y = ops.batch_norm(x, mean, variance, training=training, unbiased=True)
    assert y.op.writes == ((1, 2) if training else ())
    assert [value.variable.name for value in y.op.outputs[len(y.op.results) :]] == ["mean", "variance"] * training


def test_batch_norm_for_inference_is_one_variable() -> None:
    """Batch norm that was built for inference gives one Variable, normalised by the running statistics."""
    y = paddle.static.nn.batch_norm(fed(shape=[None, 3]), is_test=True) * 2.0
    executor = static.Executor()
    executor.run(paddle.static.default_startup_program())
    np.testing.assert_allclose(executor.run(feed={"x": X}, fetch_list=[y])[0], 2 * X, rtol=1e-4)


def test_clone_for_test_normalises_by_running_statistics() -> None:
    """Batch norm moves its statistics in training and uses them in a clone for test."""
    x = fed(shape=[None, 3], stops=True)
    y = paddle.static.nn.batch_norm(x, momentum=0.5)
    test = static.default_main_program().clone(for_test=True)
    executor = static.Executor()
    executor.run(paddle.static.default_startup_program())
    executor.run(feed={"x": X}, fetch_list=[y])
    (found,) = executor.run(test, feed={"x": X[:1]}, fetch_list=[y])
    mean, variance = 0.5 * X.mean(0), 0.5 + 0.5 * X.var(0)
    np.testing.assert_allclose(found, (X[:1] - mean) / np.sqrt(variance + 1e-5), rtol=1e-5)


def test_a_clone_can_be_differentiated() -> None:
    """Backward on a clone finds the clone's parameters."""
    loss = paddle.mean(paddle.static.nn.fc(fed(stops=True), 2))
    clone = static.default_main_program().clone()
    pairs = static.append_backward(clone.global_block().var(loss.name))
    assert [parameter.name for parameter, _ in pairs] == ["fc_0.w_0", "fc_0.b_0"]
    assert all(parameter.block.program is clone for parameter, _ in pairs)
