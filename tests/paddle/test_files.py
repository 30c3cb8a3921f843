"""save and load: round trips, Paddle's own files, atomic writing, and files that would run code."""

from __future__ import annotations

import io
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import opkit.paddle as paddle
from opkit.paddle.framework.io import UnsafeFileError

pytestmark = pytest.mark.bounded


def test_a_layer_round_trip(tmp_path: Path) -> None:
    """State saved from one layer makes another compute the same."""
    first, second = paddle.nn.Linear(3, 2), paddle.nn.Linear(3, 2)
    paddle.save(first.state_dict(), tmp_path / "folder" / "a.pdparams")
    state = paddle.load(str(tmp_path / "folder" / "a.pdparams"))
    assert sorted(state) == ["bias", "weight"]
    assert second.set_state_dict(state) == ([], [])
    x = paddle.ones([1, 3])
    assert first(x).numpy().tolist() == second(x).numpy().tolist()


def test_the_format_is_paddles(tmp_path: Path) -> None:
    """A state dict is a pickle of arrays with the table of names; a nested Tensor is a (name, array) pair."""
    layer = paddle.nn.Linear(1, 1)
    paddle.save(layer.state_dict(), tmp_path / "a")
    plain = pickle.loads((tmp_path / "a").read_bytes())
    assert isinstance(plain["weight"], np.ndarray)
    assert plain["StructuredToParameterName@@"] == {"weight": layer.weight.name, "bias": layer.bias.name}
    paddle.save({"step": 3, "all": [paddle.ones([2])]}, tmp_path / "b")
    plain = pickle.loads((tmp_path / "b").read_bytes())
    assert plain["all"][0][1].tolist() == [1.0, 1.0]
    loaded = paddle.load(str(tmp_path / "b"))
    assert loaded["step"] == 3
    assert isinstance(loaded["all"][0], paddle.Tensor)


def test_a_file_as_paddle_writes_a_nested_tensor(tmp_path: Path) -> None:
    """Paddle pickles it through tuple((name, array)); it loads as a Tensor of that name."""

    class Nested:
        def __reduce__(self) -> Any:
            return tuple, (("tensor_0", np.ones(2, np.float32)),)

    (tmp_path / "a").write_bytes(pickle.dumps({"x": Nested()}))
    loaded = paddle.load(str(tmp_path / "a"))["x"]
    assert loaded.name == "tensor_0"
    assert loaded.numpy().tolist() == [1.0, 1.0]


def test_a_file_that_would_run_code_is_refused(tmp_path: Path) -> None:
    """The name that the file wants to call is in the message, and nothing is called."""

    class Evil:
        def __reduce__(self) -> Any:
            return os.mkdir, (str(tmp_path / "made"),)

    (tmp_path / "evil").write_bytes(pickle.dumps({"weight": Evil()}))
    with pytest.raises(UnsafeFileError, match="mkdir"):
        paddle.load(str(tmp_path / "evil"))
    assert not (tmp_path / "made").exists()


def test_a_failed_save_leaves_the_old_file(tmp_path: Path) -> None:
    """What cannot be saved is named, the old file stays, and nothing is left behind."""
    path = tmp_path / "a"
    paddle.save({"x": paddle.ones([1])}, path)
    before = path.read_bytes()
    with pytest.raises(ValueError, match=r"\['bad'\]\[0\] is a function"):
        paddle.save({"x": 1, "bad": [lambda: None]}, path)
    assert path.read_bytes() == before
    assert [item.name for item in tmp_path.iterdir()] == ["a"]


def test_files_in_memory_and_missing_files() -> None:
    """BytesIO works like a file; a missing file is both errors; garbage is called so."""
    buffer = io.BytesIO()
    paddle.save({"x": paddle.ones([1])}, buffer)
    assert paddle.load(buffer)["x"].item() == 1.0
    with pytest.raises(FileNotFoundError) as caught:
        paddle.load("/no/such/file")
    assert isinstance(caught.value, ValueError)
    with pytest.raises(ValueError, match=r"not a file that paddle\.save wrote"):
        paddle.load(io.BytesIO(b"garbage"))


def test_an_optimizer_goes_on_where_it_stopped(tmp_path: Path) -> None:
    """Adam's moments and the schedule survive a round trip: the next step is the same."""

    def step(optimizer: Any, parameter: Any) -> None:
        (parameter * parameter).sum().backward()
        optimizer.step()
        optimizer.clear_grad()
        optimizer._learning_rate.step()

    def make(parameter: Any) -> Any:
        schedule = paddle.optimizer.lr.StepDecay(0.1, 2)
        return paddle.optimizer.Adam(schedule, parameters=[parameter])

    first = paddle.create_parameter([3], "float32")
    optimizer = make(first)
    for _ in range(3):
        step(optimizer, first)
    paddle.save(optimizer.state_dict(), tmp_path / "state.pdopt")
    second = paddle.create_parameter([3], "float32", name=first.name)
    second.set_value(first)
    resumed = make(second)
    resumed.set_state_dict(paddle.load(str(tmp_path / "state.pdopt")))
    for _ in range(2):
        step(optimizer, first)
        step(resumed, second)
    assert first.numpy().tolist() == second.numpy().tolist()
    assert resumed.get_lr() == optimizer.get_lr()


@pytest.mark.parametrize(
    "data",
    [
        b"\x80\x02cnumpy.core.multiarray\nscalar\ncnumpy\ndtype\nX\x02\0\0\0O8K\0K\1\x87R(K\3X\1\0\0\0|NNNJ\xff\xff\xff\xffJ"
        b"\xff\xff\xff\xffK?tbC\x08AAAAAAAA\x86R.",
        b"\x80\x02Nr\xff\xff\xff\xff",
        pickle.dumps({"StructuredToParameterName@@": 5}),
        pickle.dumps({"w": np.ones(2), "StructuredToParameterName@@": {"w": 5}}),
        pickle.dumps(np.array([None])),
    ],
)
def test_a_hostile_file_is_refused(data: bytes) -> None:
    """A scalar of objects, a huge memo index, a table of names that is none: an error, and no crash."""
    with pytest.raises(ValueError, match=r"not a file that paddle\.save wrote"):
        paddle.load(io.BytesIO(data))


def test_what_cannot_be_loaded_is_not_saved(tmp_path: Path) -> None:
    """Arrays of objects, and what holds itself."""
    held: list[Any] = []
    held.append(held)
    for item, what in ((np.array([None]), "array of object"), (held, "holds itself")):
        with pytest.raises(ValueError, match=what):
            paddle.save({"x": item}, tmp_path / "a")
    assert list(tmp_path.iterdir()) == []
