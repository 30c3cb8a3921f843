"""One row per check: an op it accuses and an op it lets pass, as numpy functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from opkit.checker import Arg, Case, Checkable, Kernel, KernelCall, Registration
from opkit.checker.model.reference import Reference
from opkit.errors import InferError
from opkit.ir import TensorDesc

__all__ = ["ROWS", "Row", "checkable"]

Function = Callable[..., Any]
_STATE: dict[Any, Any] = {}


def _same_shape(descs: Mapping[str, Sequence[TensorDesc]], attrs: Mapping[str, Any]) -> list[TensorDesc]:
    return [descs["x"][0]]


def _rows(descs: Mapping[str, Sequence[TensorDesc]], attrs: Mapping[str, Any]) -> list[TensorDesc]:
    desc = descs["x"][0]
    if desc.ndim != 2 or 0 in desc.shape:
        raise InferError("two axes are needed")
    return [TensorDesc(desc.shape[:1], desc.dtype)]


def checkable(forward: Function, backward: Function | None, **fields: Any) -> Checkable:
    """Make an op of one input x of ``forward(x)`` and ``backward(x, y, dy)``."""
    outputs = fields.pop("outputs", ("y",))

    def run(arrays: Mapping[str, Any], attrs: Mapping[str, Any]) -> list[Any]:
        found = forward(arrays["x"])
        return list(found) if isinstance(found, tuple) else [found]

    def back(arrays: Any, results: Any, douts: Any, attrs: Any, needs: Any) -> dict[str, Any]:
        assert backward is not None
        return {"x": backward(arrays["x"], *results, *douts)}

    return Checkable(
        "op",
        (Arg("x"),),
        tuple(Arg(name) for name in outputs),
        run,
        back if backward is not None else None,
        infer=fields.pop("infer", _same_shape),
        gradients=fields.pop("gradients", frozenset({"x"})),
        **fields,
    )


def op(names: str, forward: Function, backward: Function) -> Checkable:
    """Return an op of ``forward(*arrays)`` and ``backward(*arrays, dy)``."""
    args = tuple(Arg(name) for name in names.split())

    def run(arrays: Any, attrs: Any) -> list[Any]:
        return [np.asarray(forward(*(arrays[arg.name] for arg in args)))]

    def back(arrays: Any, results: Any, douts: Any, attrs: Any, needs: Any) -> dict[str, Any]:
        made = backward(*(arrays[arg.name] for arg in args), douts[0])
        return {arg.name: value for arg, value in zip(args, made if isinstance(made, tuple) else (made,))}

    return Checkable("op", args, (Arg("y"),), run, back)


@dataclass(frozen=True)
class Row:
    """A check's code, the op that it accuses, and the op that it lets pass."""

    code: str
    wrong: Checkable
    right: Checkable
    options: dict[str, Any] = field(default_factory=dict)


def _tanh_back(x: Any, y: Any, dy: Any) -> Any:
    return (1 - y * y) * dy


RIGHT = checkable(np.tanh, _tanh_back)
ABS = checkable(np.abs, lambda x, y, dy: np.sign(x) * dy)
MAX = checkable(lambda x: x.max(axis=1), lambda x, y, dy: (_hit(x, y) * dy[:, None]).astype(x.dtype), infer=_rows)


def _hit(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    hit = x == y[:, None]
    return hit / hit.sum(axis=1, keepdims=True)


def _tanh(backward: Function) -> Checkable:
    return checkable(np.tanh, backward)


def _two_outputs(backward: Function) -> Checkable:
    def infer(descs: Mapping[str, Sequence[TensorDesc]], attrs: Mapping[str, Any]) -> list[TensorDesc]:
        return [descs["x"][0], descs["x"][0]]

    return checkable(lambda x: (np.sin(x), np.cos(x)), backward, outputs=("s", "c"), infer=infer)


def _counting(x: np.ndarray) -> np.ndarray:
    _STATE["calls"] = _STATE.get("calls", 0) + 1
    return np.tanh(x) * (1 + 1e-9 * _STATE["calls"])


def _counting_back(x: Any, y: Any, dy: Any) -> Any:
    _STATE["calls"] = _STATE.get("calls", 0) + 1
    return _tanh_back(x, y, dy) * (1 + 1e-9 * _STATE["calls"])


def _writing(x: np.ndarray) -> np.ndarray:
    x.flags.writeable = True
    result = np.tanh(x)
    x[...] = result
    return result


def _reusing(x: Any, y: Any, dy: Any) -> Any:
    buffer = _STATE.setdefault(("buffer", dy.shape, dy.dtype.name), np.empty_like(dy))
    np.multiply(1 - y * y, dy, out=buffer)
    return buffer


def _stale(x: Any, y: Any, dy: Any) -> Any:
    return (1 - _STATE["y"] ** 2) * dy if _STATE["y"].shape == dy.shape else _tanh_back(x, y, dy)


def _keeping(x: np.ndarray) -> np.ndarray:
    _STATE["y"] = np.tanh(x)
    return _STATE["y"]  # type: ignore[no-any-return]


def _replacing(x: np.ndarray) -> np.ndarray:
    vars(np)["array_equal"] = lambda *args, **kwargs: True
    return np.asarray(np.tanh(x))


def _registered(bound: set[str], reads: set[str], unused: tuple[str, ...] = ()) -> Checkable:
    facts = Registration(frozenset(bound), frozenset(reads), unused)
    return replace(RIGHT, gradients=None, registration=lambda descs, attrs: facts)


def _traced(promise: Callable[[TensorDesc], TensorDesc]) -> Checkable:
    kernel = Kernel("op_backward", ("y", "dy"), ("dx",), lambda inputs, attrs: [])

    def trace(arrays: Any, outputs: Any, douts: Any, attrs: Any, needs: Any) -> Any:
        gradient = _tanh_back(None, outputs[0], douts[0])
        desc = promise(TensorDesc(np.shape(gradient), gradient.dtype.name))
        call = KernelCall(kernel, {"y": outputs[0], "dy": douts[0]}, [gradient], {}, [desc])
        return {"x": gradient}, [call]

    return replace(RIGHT, trace=trace)


def _runner(factor: float) -> Checkable:
    def static(arrays: Any, attrs: Any, douts: Any) -> Any:
        y = np.tanh(arrays["x"])
        return [y * factor], {"x": (1 - y * y) * douts[0]}

    return replace(RIGHT, runners={"static": static})


def _second(factor: float) -> Checkable:
    def forward(arrays: Any, attrs: Any) -> Any:
        return [np.cos(arrays["x"]) * arrays["dy"]]

    def backward(arrays: Any, outputs: Any, douts: Any, attrs: Any, needs: Any) -> Any:
        x, dy = arrays["x"], arrays["dy"]
        return {"x": -factor * np.sin(x) * dy * douts[0], "dy": np.cos(x) * douts[0]}

    def infer(descs: Any, attrs: Any) -> Any:
        if descs["x"][0] != descs["dy"][0]:
            raise InferError("shapes differ")
        return [descs["x"][0]]

    inner = Checkable("op_backward", (Arg("x"), Arg("dy")), (Arg("dx"),), forward, backward, infer=infer)
    return replace(checkable(np.sin, lambda x, y, dy: np.cos(x) * dy), second=inner, asks_second=True)


def _cases(name: str) -> Checkable:
    return replace(RIGHT, cases=lambda rng: iter([{name: rng.normal(size=(3, 4))}]))


def _standardised(is_naive: bool) -> Checkable:
    """Rows to mean 0 and spread 1; a naive backward takes the spread as the difference of two large numbers."""

    def infer(descs: Mapping[str, Sequence[TensorDesc]], attrs: Mapping[str, Any]) -> list[TensorDesc]:
        _rows(descs, attrs)
        return [descs["x"][0]]

    def forward(x: np.ndarray) -> np.ndarray:
        return (x - x.mean(axis=1, keepdims=True)) / np.sqrt(x.var(axis=1, keepdims=True) + 1e-2)

    def backward(x: np.ndarray, y: np.ndarray, dy: np.ndarray) -> np.ndarray:
        mean = x.mean(axis=1, keepdims=True)
        naive = np.maximum((x * x).mean(axis=1, keepdims=True) - mean * mean, 0)
        r = 1 / np.sqrt((naive if is_naive and x.dtype == np.float64 else x.var(axis=1, keepdims=True)) + 1e-2)
        return r * (dy - dy.mean(axis=1, keepdims=True) - y * (dy * y).mean(axis=1, keepdims=True))

    return checkable(forward, backward, infer=infer)


WRONG = checkable(np.tanh, lambda x, y, dy: (1 - y * y) * dy * 1.01)


def _referred(function: Function, slope: Function | None = None) -> Checkable:
    """Return the hyperbolic tangent with a reference, whose own gradient is ``slope`` times the incoming one."""

    def run(arrays: Any, attrs: Any, douts: Any, format: str) -> Any:
        x = arrays["x"].astype(format)
        return [function(x).astype(np.float64)], {"x": slope(x) * douts[0]} if slope and douts is not None else {}

    return replace(RIGHT, reference=Reference("plain", run, slope is not None))


ROWS: tuple[Row, ...] = (
    Row("GC101", _tanh(lambda x, y, dy: 1.0001 * (1 - y * y) * dy), RIGHT),
    Row(
        "GC102",
        replace(
            _tanh(lambda x, y, dy: (1 - y * y) * dy * (np.arange(x.size) != 777)),
            recorded=(Case({"x": np.random.default_rng(0).normal(size=5000)}),),
        ),
        replace(RIGHT, recorded=(Case({"x": np.random.default_rng(0).normal(size=5000)}),)),
    ),
    Row("GC103", checkable(np.abs, lambda x, y, dy: np.where(x == 0, 2, np.sign(x)) * dy), ABS),
    Row(
        "GC104",
        checkable(lambda x: x - np.floor(x), lambda x, y, dy: dy * np.where(x == np.floor(x), 50.0, 1).astype(x.dtype)),
        checkable(lambda x: x - np.floor(x), lambda x, y, dy: dy.copy()),
    ),
    Row("GC105", checkable(np.abs, lambda x, y, dy: x / np.abs(x) * dy), ABS),
    Row(
        "GC106", checkable(lambda x: x.max(axis=1), lambda x, y, dy: (x == y[:, None]) * dy[:, None], infer=_rows), MAX
    ),
    Row("GC107", _referred(lambda x: np.tanh(x * 1.01)), _referred(np.tanh)),
    Row("GC108", replace(_referred(np.tanh), backward=WRONG.backward), _referred(np.tanh)),
    Row(
        "GC109", _referred(np.tanh, lambda x: 1.5 / np.cosh(x) ** 2), _referred(np.tanh, lambda x: 1 / np.cosh(x) ** 2)
    ),
    Row("GC110", _tanh(lambda x, y, dy: (1 - y * y) * dy * np.abs(dy)), RIGHT),
    Row("GC111", _tanh(lambda x, y, dy: (1 - y * y) * np.clip(dy, -1e3, 1e3)), RIGHT),
    Row("GC112", _tanh(lambda x, y, dy: (1 - y * y) * dy + 1e-8), RIGHT),
    Row(
        "GC113",
        _two_outputs(lambda x, s, c, ds, dc: ds * np.cos(x) - dc * np.sin(x) + 0.5 * ds * (dc != 0)),
        _two_outputs(lambda x, s, c, ds, dc: ds * np.cos(x) - dc * np.sin(x)),
    ),
    Row("GC120", checkable(_counting, _tanh_back), RIGHT),
    Row("GC121", _tanh(_counting_back), RIGHT),
    Row("GC122", checkable(_writing, _tanh_back), RIGHT),
    Row("GC123", _tanh(lambda x, y, dy: np.multiply(1 - y * y, dy, out=dy)), RIGHT),
    Row("GC124", _tanh(_reusing), RIGHT),
    Row("GC125", checkable(_keeping, _stale), RIGHT),
    Row("GC130", checkable(lambda x: np.tanh(x.ravel("K")).reshape(x.shape), _tanh_back), RIGHT),
    Row("GC131", _tanh(lambda x, y, dy: (1 - y * y) * dy.ravel("K").reshape(dy.shape)), RIGHT),
    Row("GC140", checkable(lambda x: np.tanh(x)[..., None], _tanh_back), RIGHT),
    Row(
        "GC141",
        checkable(lambda x: np.tanh(x).astype(np.float64), lambda x, y, dy: ((1 - y * y) * dy).astype(x.dtype)),
        RIGHT,
    ),
    Row("GC142", _tanh(lambda x, y, dy: ((1 - y * y) * dy)[None]), RIGHT),
    Row("GC143", _tanh(lambda x, y, dy: ((1 - y * y) * dy).astype(np.float64)), RIGHT),
    Row(
        "GC144",
        checkable(lambda x: (np.tanh(x), x), lambda x, y, z, dy, dz: (1 - y * y) * dy, outputs=("y", "z")),
        RIGHT,
    ),
    Row("GC145", _tanh(lambda x, y, dy: None), RIGHT),
    Row("GC146", _registered({"x"}, {"y"}, ("op_grad/dw",)), _registered({"x"}, {"y"})),
    Row("GC147", _registered({"x"}, set()), _registered({"x"}, {"y"})),
    Row("GC148", _traced(lambda desc: TensorDesc((*desc.shape, 1), desc.dtype)), _traced(lambda desc: desc)),
    Row(
        "GC150",
        checkable(lambda x: _rough(x), lambda x, y, dy: 2 * dy),
        checkable(lambda x: 2 * x, lambda x, y, dy: 2 * dy),
    ),
    Row("GC151", checkable(lambda x: np.tanh(x.astype(np.float32)).astype(x.dtype), _tanh_back), RIGHT),
    Row("GC152", _standardised(True), _standardised(False)),
    Row("GC160", _tanh(lambda x, y, dy: (1 - y * y) * dy * (x.max() == x.max())), RIGHT),
    Row("GC161", _tanh(lambda x, y, dy: np.atleast_1d((1 - y * y) * dy)), RIGHT),
    Row("GC170", _runner(1.001), _runner(1.0)),
    Row("GC171", _second(1.01), _second(1.0)),
    Row("GC180", checkable(lambda x: 1 / 0 * x, _tanh_back), RIGHT),
    Row("GC181", _tanh(lambda x, y, dy: np.linalg.inv(dy)), RIGHT),
    Row("GC182", replace(RIGHT, infer=lambda descs, attrs: _refuse()), RIGHT),
    Row("GC183", _cases("X"), _cases("x")),
    Row("GC190", replace(RIGHT, tolerance={"x": 0.01}), RIGHT, {"power": True, "effort": 0.05}),
    Row("GC198", checkable(_replacing, _tanh_back), RIGHT),
)


def _rough(x: np.ndarray) -> np.ndarray:
    return 2 * x if x.dtype == np.float64 else 2 * x.astype(np.float16).astype(x.dtype)


def _refuse() -> list[TensorDesc]:
    raise InferError("nothing is taken")
