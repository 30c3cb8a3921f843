"""Shapes that a file's own calls give a PyLayer."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from opkit.checker import Arg, Checkable, Options
from opkit.checker.model.trial import Trial
from opkit.checker.search.scope import SearchScope
from opkit.checker.search.told import Told, told_by
from opkit.checker.search.witness import called_shapes

HEAD = "class Op:\n    @staticmethod\n    def forward(ctx, a, b, k=1):\n        return a\n\n\n"
#: What follows the class, and the shapes that it gives.
CALLS = [
    ("Op.apply(paddle.randn([3, 4]), paddle.ones(shape=[4]))", [((3, 4), (4,))]),
    ("def test():\n    n, d = 3, 4\n    a = np.random.randn(n, d)\n    Op.apply(paddle.to_tensor(a), b=a.astype('float32') * 2, k=3)", [((3, 4), (3, 4))]),
    ("def make(*shape):\n    return 0\n\n\nrun = Op.apply\nrun(make(2, 3), make(3))", [((2, 3), (3,))]),
    ("if True:\n    x = rng.normal(size=(2, 3))\n    x = rng.normal(size=(5,))\n    Op.apply(x, [[1.0, -2.0]])", [((5,), (1, 2))]),
    ("x = paddle.randn([2])\nOp.apply(x, x)\nx = paddle.randn([3])\nOp.apply(x, x)", [((2,), (2,)), ((3,), (3,))]),
    ("shape = (2, 3)\nOp.apply(np.zeros(shape), np.random.uniform(0, 1, shape))", [((2, 3), (2, 3))]),
    ("Op.apply(paddle.randn([3, 4]), load())", []),
    ("Op.apply(paddle.randn([3, n]), paddle.randn([3, n]))", []),
    ("Other.apply(paddle.randn([3]), paddle.randn([3]))", []),
    ("x = x\nOp.apply(x, x)", []),
]


def op_of(folder: Path, text: str) -> type:
    """Return the class of a file that is not executed beyond the class."""
    path = folder / "op.py"
    path.write_text(HEAD)
    spec = importlib.util.spec_from_file_location("op", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    path.write_text(HEAD + text + "\n")
    made: type = module.Op
    return made


@pytest.mark.parametrize(("text", "shapes"), CALLS)
def test_calls_give_shapes(text: str, shapes: list[object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers that stand in the file, by names too; a shape that is computed says nothing."""
    monkeypatch.setattr("inspect.getsourcefile", lambda _: str(tmp_path / "op.py"))
    assert called_shapes(op_of(tmp_path, text), ("a", "b")) == shapes


def test_squares_tell_little() -> None:
    """Equal sizes of a call are on purpose where all arrays have one shape; words count besides."""
    assert Told(calls=(((3, 4), (3, 4)),)).is_equal
    assert not Told(calls=(((3, 4), (4,)),)).is_equal
    assert Told(is_same=True).is_equal
    assert not Told(is_same=True, calls=(((3, 4), (4,)),)).is_equal
    assert not Told().is_equal
    assert told_by((), ("a", "b")) == Told()


def test_calls_say_nothing_where_an_input_is_a_list() -> None:
    """A call gives each of its arrays, and not their number, a shape."""
    class Layer:
        @staticmethod
        def forward(ctx, x, ys):  # type: ignore[no-untyped-def]
            return x  # both of the same shape

    sources = (Layer.forward, Layer.forward, Layer)
    assert told_by(sources, ("x", "ys")).is_same
    inputs = (Arg("x"), Arg("ys", is_variadic=True))
    made = Checkable("op", inputs, (Arg("y"),), lambda arrays, attrs: [arrays["x"]], sources=sources)
    assert SearchScope(made, Options(), Trial(made)).told == Told()


def test_names_that_stand_for_each_other_take_no_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sixty names, each the sum of the one before and itself, are looked up once each."""
    monkeypatch.setattr("inspect.getsourcefile", lambda _: str(tmp_path / "op.py"))
    lines = ["a0 = np.ones((2, 3))", *(f"a{i + 1} = a{i} + a{i}" for i in range(60)), "Op.apply(a60, a60)"]
    assert called_shapes(op_of(tmp_path, "\n".join(lines)), ("a", "b")) == [((2, 3), (2, 3))]
