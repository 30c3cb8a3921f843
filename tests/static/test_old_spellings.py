"""The older spellings: paddle.base and paddle.fluid build and run the same graphs."""

from __future__ import annotations

import numpy as np
import pytest

import opkit.paddle as paddle
from opkit import static
from opkit.errors import MissingNameError, UnsupportedError
from opkit.paddle import base, fluid
from opkit.paddle.base import compiler


def samples(count: int) -> list[tuple[np.ndarray, list[int]]]:
    """Return (features, [class]) pairs."""
    rng = np.random.default_rng(0)
    return [(rng.random(4), [i % 3]) for i in range(count)]


def test_fluid_trains() -> None:
    """A net in fluid's words, fed by a DataFeeder, trains."""
    x = fluid.layers.data("x", [4])
    y = fluid.layers.data("y", [1], dtype="int64")
    assert (x.shape, y.shape) == ((-1, 4), (-1, 1))
    p = fluid.layers.fc(fluid.layers.fc(x, 8, act="tanh"), 3, act="softmax")
    loss = fluid.layers.mean(fluid.layers.cross_entropy(p, y))
    fluid.optimizer.AdamOptimizer(0.1).minimize(loss)
    executor = fluid.Executor(fluid.CPUPlace())
    executor.run(fluid.default_startup_program())
    feed = fluid.DataFeeder([x, y], fluid.CPUPlace()).feed(samples(9))
    losses = [executor.run(feed=feed, fetch_list=[loss])[0] for _ in range(30)]
    assert losses[0].shape == (1,)
    assert losses[-1] < losses[0]


def test_base_is_static() -> None:
    """Base's classes and functions are static's; a compiled program runs as the program."""
    assert base.Program is paddle.static.Program
    assert base.default_main_program() is static.default_main_program()
    y = paddle.static.data("x", [2]) * 2.0
    compiled = compiler.CompiledProgram(base.default_main_program())
    (found,) = base.Executor(base.CPUPlace()).run(compiled, feed={"x": np.ones(2, np.float32)}, fetch_list=[y.name])
    assert found.tolist() == [2.0, 2.0]
    assert not base.core.is_compiled_with_cuda()
    with pytest.raises(UnsupportedError, match="CPU only"):
        base.CUDAPlace(0)
    with base.unique_name.guard("pre_"):
        assert base.unique_name.generate("fc") == "pre_fc_0"


def test_missing_names_offer_the_nearest() -> None:
    """A name that opkit lacks is an AttributeError that suggests the nearest one."""
    with pytest.raises(MissingNameError, match=r"paddle.static.nn.batchnorm\n.*batch_norm"):
        _ = paddle.static.nn.batchnorm
    with pytest.raises(MissingNameError, match=r"did you mean paddle.static.Program, "):
        _ = paddle.static.Programm
    with pytest.raises(AttributeError, match=r"paddle.base.layerz"):
        _ = base.layerz
    with pytest.raises(MissingNameError, match=r"paddle.base.layers.io.data"):
        base.layers.io.data()


def test_data_feeder_refuses_what_does_not_fit() -> None:
    """Samples with a wrong number of parts or a wrong size are refused."""
    x = paddle.static.data("x", [None, 4])
    feeder = base.DataFeeder([x])
    with pytest.raises(ValueError, match="2 parts, the feeder takes 1"):
        feeder.feed([(1, 2)])
    with pytest.raises(ValueError, match="do not fit variable 'z'"):
        base.DataFeeder([paddle.static.data("z", [None, 2, 2])]).feed([([1, 2, 3],)])
    array = base.DataFeeder(["x"]).feed([([1, 2, 3, 4],)])["x"]
    assert (array.shape, array.dtype) == ((1, 4), np.float32)


def test_batches() -> None:
    """paddle.batch cuts a reader's samples into lists."""
    assert [len(item) for item in paddle.batch(lambda: iter(range(7)), 3)()] == [3, 3, 1]
    assert [len(item) for item in paddle.batch(lambda: iter(range(7)), 3, drop_last=True)()] == [3, 3]
    with pytest.raises(ValueError, match="positive"):
        paddle.batch(lambda: iter(()), 0)


def test_accuracy() -> None:
    """Accuracy counts labels among the k largest scores."""
    x, y = paddle.static.data("x", [None, 3]), paddle.static.data("y", [None, 1], "int64")
    found = paddle.static.Executor().run(
        feed={"x": np.array([[1, 3, 2], [3, 2, 1]], np.float32), "y": np.array([[2], [0]])},
        fetch_list=[paddle.static.accuracy(x, y), paddle.static.accuracy(x, y, k=2)],
    )
    assert [float(item) for item in found] == [0.5, 1.0]


def test_py_func_in_dynamic_mode() -> None:
    """py_func outside static mode is an AssertionError that names enable_static."""
    static.disable_static()
    with pytest.raises(AssertionError, match="enable_static"):
        paddle.static.py_func(np.tanh, paddle.ones([2]), None)
