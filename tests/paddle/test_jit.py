"""``paddle.jit``: marked functions run as they are; networks are saved as graphs and read again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import opkit.paddle as paddle
from opkit.errors import UsageError
from opkit.paddle.static import InputSpec


class Net(paddle.nn.Layer):
    """A network with a buffer, an option and two outputs."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = paddle.nn.Linear(4, 3)
        self.norm = paddle.nn.BatchNorm1D(3)

    @paddle.jit.to_static(input_spec=[InputSpec([None, 4], "float32", "rows")])
    def forward(self, x: Any, twice: bool = False) -> Any:
        """Return a list and a sum."""
        y = paddle.nn.functional.relu(self.norm(self.fc(x)))
        return [y * 2 if twice else y, y.sum()]


# ---- running ---------------------------------------------------------------------------------------------------------
def test_a_marked_function_is_the_function() -> None:
    """Values, gradients, name and documentation; with arguments of the decorator and without."""

    @paddle.jit.to_static
    def square(x: Any) -> Any:
        """Square it."""
        return x * x

    @paddle.jit.to_static(build_strategy=None, full_graph=True)
    def double(x: Any) -> Any:
        return x * 2

    x = paddle.to_tensor([3.0], stop_gradient=False)
    square(double(x)).backward()
    assert x.grad.tolist() == [24.0]
    assert (square.__name__, square.__doc__) == ("square", "Square it.")
    assert square.dygraph_function(x).tolist() == [9.0]


def test_a_marked_layer_is_the_layer() -> None:
    """It keeps its parameters."""
    net = paddle.nn.Linear(2, 2)
    assert paddle.jit.to_static(net) is net
    assert isinstance(net.forward, paddle.jit.StaticFunction)
    assert net(paddle.ones([1, 2])).shape == [1, 2]


def test_a_marked_method_belongs_to_its_instance() -> None:
    """Two instances compute with their own parameters."""
    first, second = Net(), Net()
    x = paddle.rand([5, 4])
    assert first.forward.dygraph_function.__self__ is first
    assert not np.allclose(first(x)[0].numpy(), second(x)[0].numpy())


def test_python_decides_while_it_runs() -> None:
    """A branch on a value is an ordinary one."""
    sign = paddle.jit.to_static(lambda x: x if x.sum() > 0 else -x)
    assert sign(paddle.to_tensor([-2.0])).tolist() == [2.0]
    assert sign(paddle.to_tensor([2.0])).tolist() == [2.0]


def test_not_to_static_is_the_function() -> None:
    """As a decorator with and without a call."""
    assert paddle.jit.not_to_static(len) is len
    assert paddle.jit.not_to_static()(len) is len
    paddle.jit.ignore_module([np])
    paddle.jit.enable_to_static(False)


def test_arguments_are_checked() -> None:
    """An input spec is a list, a function can be called."""
    with pytest.raises(TypeError, match="input_spec"):
        paddle.jit.to_static(len, input_spec=InputSpec([1]))
    with pytest.raises(TypeError, match="function or a Layer"):
        paddle.jit.to_static(3)
    with pytest.raises(ValueError, match="backend"):
        paddle.jit.to_static(len, backend="x")
    with pytest.raises(TypeError, match="bool"):
        paddle.jit.enable_to_static(1)


# ---- saving ----------------------------------------------------------------------------------------------------------
def test_a_saved_network_computes_the_same(tmp_path: Path) -> None:
    """In evaluation, for another batch, with its buffers; the network itself is as it was."""
    net = Net()
    net(paddle.rand([6, 4]))
    net.eval()
    before = {name: item.numpy() for name, item in net.state_dict().items()}
    paddle.jit.save(net, str(tmp_path / "net"))
    assert all(np.array_equal(before[name], item.numpy()) for name, item in net.state_dict().items())
    loaded = paddle.jit.load(str(tmp_path / "net"))
    x = paddle.rand([2, 4])
    for found, expected in zip(loaded(x), net(x), strict=True):
        assert np.array_equal(found.numpy(), expected.numpy())
    assert not paddle.in_dynamic_mode() or loaded(x.numpy())[0].shape == [2, 3]


def test_the_mode_stays(tmp_path: Path) -> None:
    """Saving and running a graph leaves dynamic mode on, also after an error."""
    paddle.jit.save(paddle.nn.Linear(2, 2), tmp_path / "a", input_spec=[InputSpec([None, 2])])
    assert paddle.in_dynamic_mode()
    with pytest.raises(ZeroDivisionError):
        paddle.jit.save(lambda x: 1 / 0, tmp_path / "b", input_spec=[InputSpec([1])])
    assert paddle.in_dynamic_mode()


def test_a_tensor_stands_for_its_spec(tmp_path: Path) -> None:
    """Shape and dtype of an example; a function without parameters can be saved too."""
    paddle.jit.save(lambda x: x + 1, tmp_path / "f", input_spec=[paddle.ones([2], "int64")])
    assert paddle.jit.load(tmp_path / "f")(paddle.to_tensor([1, 2])).tolist() == [2, 3]


def test_the_executor_reads_it(tmp_path: Path) -> None:
    """It is what static.load_inference_model reads."""
    paddle.jit.save(paddle.nn.Linear(2, 3), tmp_path / "net", input_spec=[InputSpec([None, 2], name="rows")])
    paddle.enable_static()
    try:
        exe = paddle.static.Executor()
        program, feeds, fetches = paddle.static.load_inference_model(tmp_path / "net", exe)
        assert feeds == ["rows"]
        found = exe.run(program, {"rows": np.ones((4, 2), np.float32)}, fetches)
        assert found[0].shape == (4, 3)
    finally:
        paddle.disable_static()


def test_what_cannot_be_saved_says_so(tmp_path: Path) -> None:
    """No input spec, a result that is not a Tensor, a wrong number of inputs, training what was loaded."""
    with pytest.raises(UsageError, match="no input_spec"):
        paddle.jit.save(paddle.nn.Linear(2, 2), tmp_path / "a")
    with pytest.raises(UsageError, match="returns int"):
        paddle.jit.save(lambda x: 3, tmp_path / "a", input_spec=[InputSpec([1])])
    paddle.jit.save(paddle.nn.Linear(2, 2), tmp_path / "a", input_spec=[InputSpec([None, 2])])
    loaded = paddle.jit.load(tmp_path / "a")
    with pytest.raises(UsageError, match="takes 1 inputs, got 2"):
        loaded(1, 2)
    with pytest.raises(UsageError, match="not trained"):
        loaded.train()
