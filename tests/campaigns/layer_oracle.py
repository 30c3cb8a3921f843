"""What is true of the corpus of PyLayers, found without opkit's checker: plain central differences and comparisons.

Run it with any interpreter that has a ``paddle``; without one, opkit's stands in:
``python -m tests.campaigns.layer_oracle [NAME...]`` prints a table by class and exits 1 where a row is not what it says.
"""

from __future__ import annotations

import copy
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

try:
    import paddle
except ImportError:
    from opkit.shim import install_frameworks

    install_frameworks()
    import paddle

from tests.corpus.layer_faults import FAULTY
from tests.corpus.layer_model import HEAD, Layer
from tests.corpus.layers import LAYERS

__all__ = ["beliefs", "broken"]

_STEP = {"float64": 1e-3, "float32": 2e-2}
_LOOSE = {"float64": 1e-8, "float32": 3e-3}
_ROUNDING = {"float64": 4e-15, "float32": 3e-7}
Call = tuple[tuple[Any, ...], dict[str, Any]]


def is_float(value: Any) -> bool:
    """Say whether a value is a Tensor of floats."""
    return isinstance(value, paddle.Tensor) and value.numpy().dtype.kind == "f"


def slots(call: Call) -> list[Any]:
    """Return the Tensor arguments in the order of the call; a list of Tensors is one."""
    every = [*call[0], *call[1].values()]
    return [v for v in every if isinstance(v, paddle.Tensor) or (is_list(v) and isinstance(v[0], paddle.Tensor))]


def is_list(value: Any) -> bool:
    """Say whether a value is a list that holds something."""
    return isinstance(value, (list, tuple)) and len(value) > 0


def flat(values: Any) -> list[Any]:
    """Return values with lists opened."""
    return [item for value in values for item in (value if isinstance(value, (list, tuple)) else [value])]


def wanted(call: Call) -> list[Any]:
    """Return the Tensors that take a gradient."""
    return [v for v in flat(slots(call)) if is_float(v) and not v.stop_gradient]


def changed(call: Call, target: Any, array: np.ndarray) -> Call:
    """Return the call with another array in the place of one Tensor."""

    def one(value: Any) -> Any:
        if isinstance(value, (list, tuple)) and any(isinstance(item, paddle.Tensor) for item in value):
            return [one(item) for item in value]
        if not isinstance(value, paddle.Tensor):
            return copy.copy(value) if isinstance(value, list) else value
        made = paddle.to_tensor(array if value is target else value.numpy().copy())
        made.stop_gradient = value.stop_gradient
        return made if value.is_leaf or value.stop_gradient else made * 1

    return tuple(one(v) for v in call[0]), {name: one(v) for name, v in call[1].items()}


class Trial:
    """One PyLayer on one call."""

    def __init__(self, load: Callable[[], type], make: Callable[[], Call], surrogate: Any, is_numeric: bool) -> None:
        self.load, self.make, self.surrogate, self.is_numeric = load, make, surrogate, is_numeric
        self.layer = load()

    def facts(self) -> Iterator[str]:
        """Yield what is broken; nothing for a right PyLayer."""
        try:
            yield from self._facts()
        except Exception as error:
            yield f"raises {type(error).__name__}: {str(error)[:70]}"

    def forward(self, call: Call, raw: list[Any] | None = None) -> list[Any]:
        """Apply and return the differentiable outputs."""
        result = (self.layer if raw is None else listening(self.layer, raw)).apply(*call[0], **call[1])
        return [v for v in flat([result]) if is_float(v) and not v.stop_gradient]

    def gradients(self, call: Call, scale: float = 1.0, other: Call | None = None) -> tuple[Any, ...]:
        """Return outputs, their incoming gradients and what backward returned."""
        raw: list[Any] = []
        outs = self.forward(call, raw)
        douts = [paddle.to_tensor(d * scale) for d in self.weights(outs)]
        if other is not None:
            later: list[Any] = []
            again = self.forward(other, later)
            paddle.autograd.backward(again, [paddle.to_tensor(d * -2) for d in self.weights(again)])
        before = [d.numpy().copy() for d in douts], [o.numpy().copy() for o in outs]
        paddle.autograd.backward(outs, douts)
        if any(not same(a, b.numpy()) for a, b in zip(before[0], douts)):
            raise ValueError("backward writes to the incoming gradient")
        if any(not same(a, b.numpy()) for a, b in zip(before[1], outs)):
            raise ValueError("backward writes to an output")
        return outs, douts, raw[0] if raw else ()

    def weights(self, outs: list[Any]) -> list[np.ndarray]:
        """Return the same incoming gradients for outputs of the same shapes."""
        rng = np.random.default_rng(5)
        return [np.asarray(rng.normal(size=tuple(o.shape)), o.numpy().dtype) for o in outs]

    def _facts(self) -> Iterator[str]:
        call = self.make()
        before = [v.numpy().copy() for v in flat(slots(call))]
        lists = [list(v) for v in (*call[0], *call[1].values()) if isinstance(v, list)]
        outs, _, raw = self.gradients(call)
        if any(not same(a, v.numpy()) for a, v in zip(before, flat(slots(call)))):
            yield "writes to an argument"
        now = [v for v in (*call[0], *call[1].values()) if isinstance(v, list)]
        if any(len(a) != len(b) or any(x is not y for x, y in zip(a, b)) for a, b in zip(lists, now)):
            yield "changes a list argument"
        kinds = {v.numpy().dtype for v in wanted(call)}
        if any(o.numpy().dtype not in kinds for o in outs):
            yield "forward changes the dtype"
        got = (
            list(raw)
            if isinstance(raw, tuple) or (isinstance(raw, list) and not isinstance(slots(call)[0], list))
            else [raw]
        )
        if found := list(self.form(got, slots(call))):
            yield from found
            return
        got = flat(got)
        values = [g.numpy().copy() if g is not None else None for g in got]
        yield from self.purity(call, outs, got, values)
        if self.is_numeric:
            yield from self.numbers(values)

    def form(self, got: list[Any], places: list[Any]) -> Iterator[str]:
        """Compare the gradients' number, shapes and dtypes with the inputs'."""
        if len(got) > len(places):
            yield f"{len(got)} gradients for {len(places)} Tensors"
        for index, place in enumerate(places):
            grad = got[index] if index < len(got) else None
            for item, g in zip(flat([place]), flat([grad])):
                if not is_float(item) or item.stop_gradient:
                    continue
                if g is None:
                    yield f"no gradient for {index}"
                elif list(g.shape) != list(item.shape):
                    yield f"gradient {index} has shape {list(g.shape)}, not {list(item.shape)}"
                elif g.numpy().dtype != item.numpy().dtype:
                    yield f"gradient {index} has dtype {g.numpy().dtype}"

    def purity(self, call: Call, outs: list[Any], got: list[Any], values: list[Any]) -> Iterator[str]:
        """Compare with the same call again, alone and between others."""
        old = [o.numpy().copy() for o in outs]
        for _ in range(3):
            again, _, raw = self.gradients(self.make())
            if any(not same(a, b.numpy()) for a, b in zip(old, again)):
                yield "forward differs when called again"
                return
            now = flat([raw])
            if any(a is not None and not same(a, b.numpy()) for a, b in zip(values, now)):
                yield "backward differs when called again"
                return
        later, _, raw = self.gradients(self.flipped(), scale=-2.0)
        if any(not same(a, o.numpy()) for a, o in zip(old, outs)):
            yield "a later call changes an earlier result"
        if any(a is not None and not same(a, g.numpy()) for a, g in zip(values, got)):
            yield "a later call changes an earlier gradient"
        fresh = Trial(self.load, self.make, self.surrogate, self.is_numeric)
        alone, _, first = fresh.gradients(fresh.flipped(), scale=-2.0)
        pairs = zip([*later, *flat([raw])], [*alone, *flat([first])])
        if any(a is not None and not same(a.numpy(), b.numpy()) for a, b in pairs):
            yield "an earlier call changes the result"
        _, _, raw = self.gradients(self.make(), other=self.flipped())
        if any(a is not None and not same(a, b.numpy()) for a, b in zip(values, flat([raw]))):
            yield "a call between forward and backward changes the gradient"

    def flipped(self) -> Call:
        """Return the call with the elements of its differentiable inputs in reverse order."""
        call = self.make()
        for place in range(len(wanted(call))):
            item = wanted(call)[place]
            call = changed(call, item, np.flip(item.numpy()).copy())
        return call

    def value(self, call: Call) -> float:
        """Return the weighted sum of the outputs in the widest type."""
        with paddle.no_grad():
            result = self.surrogate(*call[0], **call[1]) if self.surrogate else self.layer.apply(*call[0], **call[1])
        outs = [v for v in flat([result]) if is_float(v)]
        return sum(float((o.numpy().astype(np.longdouble) * w).sum()) for o, w in zip(outs, self.weights(outs)))

    def numbers(self, values: list[Any]) -> Iterator[str]:
        """Compare with central differences of four points; at a kink with the slopes of both sides."""
        call = self.make()
        everything = flat(slots(call))
        scale = (
            max((float(np.abs(v[np.isfinite(v)]).max(initial=0)) for v in values if v is not None), default=0) + 1e-3
        )
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for item, claimed in zip(everything, values):
                if claimed is None or not is_float(item) or item.stop_gradient:
                    continue
                for at in np.ndindex(*item.shape):
                    if wrong := self.entry(call, item, at, float(claimed[at]), scale):
                        yield f"entry {at}: {wrong}"
                        return
            if wrong := self.together(call, [v for v in values if v is not None], scale):
                yield f"all entries together: {wrong}"

    def together(self, call: Call, values: list[np.ndarray], scale: float) -> str:
        """Compare the slope along all entries at once, which keeps ties; "" where it agrees."""
        items = wanted(call)

        def f(step: float) -> float:
            now = call
            for item in items:
                array = (item.numpy() + step).astype(item.numpy().dtype)
                places = flat(slots(now))
                now = changed(now, places[[id(v) for v in flat(slots(call))].index(id(item))], array)
            return self.value(now)

        claimed = sum(float(v.sum()) for v in values)
        for s in (1e-3, 1e-4, 1e-5):
            numeric = (8 * (f(s) - f(-s)) - (f(2 * s) - f(-2 * s))) / (12 * s)
            allowed = (1e-3 if values[0].dtype == np.float32 else 1e-7) * max(scale, abs(numeric)) * 1e-3 / s
            if not np.isfinite(numeric) or abs(claimed - numeric) <= max(allowed, 1e-13 * abs(f(0)) / s):
                return ""
        left, right = (f(0) - f(-1e-6)) / 1e-6, (f(1e-6) - f(0)) / 1e-6
        low, high = sorted((left, right))
        if high - low > 1e-3 * scale or values[0].dtype == np.float32:
            return ""
        return f"claimed {claimed:.6g}, differences {numeric:.6g}"

    def entry(self, call: Call, item: Any, at: tuple[int, ...], claimed: float, scale: float) -> str:
        """Compare one entry; "" where it agrees."""
        kind = str(item.numpy().dtype)
        x = float(item.numpy()[at])
        h = _STEP[kind] * min(1.0, max(abs(x), 0.05))

        def f(step: float) -> float:
            array = item.numpy().copy()
            array[at] = x + step
            try:
                return self.value(changed(call, item, array))
            except Exception:
                return float("nan")

        for shrink in (1, 0.1, 0.01):
            s = h * shrink
            p2, p1, m1, m2, zero = f(2 * s), f(s), f(-s), f(-2 * s), f(0)
            numeric = (8 * (p1 - m1) - (p2 - m2)) / (12 * s)
            if not np.isfinite(numeric):
                continue
            if not np.isfinite(claimed):
                return f"claimed {claimed}, differences {numeric:.6g}"
            allowed = _LOOSE[kind] * max(scale, abs(numeric)) + (abs(zero) + scale) * _ROUNDING[kind] / s
            if abs(claimed - numeric) <= allowed:
                return ""
        t = h * 1e-3 if kind == "float64" else h
        zero = f(0)
        sides = sorted([(f(t) - zero) / t, (zero - f(-t)) / t])
        if not np.isfinite(sides).all():
            return "" if np.isfinite(claimed) or not np.isfinite(zero) else f"claimed {claimed}"
        is_kink = sides[1] - sides[0] > 1e-3 * scale
        if is_kink and sides[0] - 1e-4 * scale <= claimed <= sides[1] + 1e-4 * scale:
            return ""
        return f"claimed {claimed:.6g}, slopes {sides[0]:.6g} and {sides[1]:.6g}"


def listening(layer: type, raw: list[Any]) -> type:
    """Return the PyLayer such that ``raw`` holds what its last backward returned."""

    class Listening(layer):
        @staticmethod
        def backward(ctx, *douts):
            raw[:] = [layer.backward(ctx, *douts)]
            first = [g if g is None else g.numpy().copy() for g in flat([raw[0]])]
            again = flat([layer.backward(ctx, *douts)])
            if any(a is not None and not same(a, b.numpy()) for a, b in zip(first, again)):
                raise ValueError("a second backward of the same call differs")
            return raw[0]

    return Listening


def same(a: np.ndarray, b: np.ndarray) -> bool:
    """Say whether two arrays are equal, NaN like NaN, but for rounding in another order."""
    return a.shape == b.shape and np.allclose(
        a, b, rtol=1e-13 if a.dtype == np.float64 else 1e-6, atol=1e-300, equal_nan=True
    )


def loaded(row: Layer) -> dict[str, Any]:
    """Return the names of a row's file."""
    names: dict[str, Any] = {"__name__": "corpus"}
    exec(compile(f"{HEAD}\n\n{row.text()}", row.name, "exec"), names)
    return names


def trials(row: Layer) -> Iterator[tuple[str, Trial]]:
    """Yield ("call" | "case" | "witness", trial) of a row."""
    paddle.set_default_dtype("float64")
    names = loaded(row)
    surrogate = names.get(f"SURROGATE_{row.name}", {}).get("forward")
    is_numeric = "GC101" not in names.get(f"ALLOW_{row.name}", {})

    def load() -> type:
        return loaded(row)[row.name]

    def written(text: str) -> Callable[[], Call]:
        def make() -> Call:
            names["RNG"] = np.random.default_rng(20)
            return eval(f"(lambda *a, **k: (a, k))({text.replace('NAME', row.name)})", names)

        return make

    yield "call", Trial(load, written(row.call), surrogate, is_numeric)
    if row.witness:
        yield "witness", Trial(load, written(row.witness), surrogate, is_numeric)
    if row.cases:
        drawn = names[f"cases_{row.name}"]
        for number, _ in zip(range(len(list(drawn(np.random.default_rng(1))))), range(8)):
            yield "case", Trial(load, lambda n=number: ((), case_of(drawn, n)), surrogate, is_numeric)


def case_of(drawn: Any, number: int) -> dict[str, Any]:
    """Return one case with arrays as Tensors."""

    def one(value: Any) -> Any:
        if isinstance(value, list) and any(isinstance(v, np.ndarray) for v in value):
            return [one(v) for v in value]
        if not isinstance(value, np.ndarray):
            return value
        made = paddle.to_tensor(value)
        made.stop_gradient = value.dtype.kind != "f"
        return made

    return {name: one(value) for name, value in list(drawn(np.random.default_rng(1)))[number].items()}


def broken(row: Layer) -> dict[str, list[str]]:
    """Return what is broken on the typical call, on the cases and on the witness."""
    found: dict[str, list[str]] = {}
    for where, trial in trials(row):
        found.setdefault(where, []).extend(trial.facts())
    return found


def beliefs(row: Layer) -> str:
    """Return what a row says wrongly of itself; "" where all is as it says."""
    found = broken(row)
    seen = found["call"] + found.get("case", [])
    if not row.fault:
        return "; ".join(seen + found.get("witness", []))
    if row.beyond:
        if seen:
            return f"is said to be right on what is seen, but {seen[0]}"
        return "" if found.get("witness") else "the witness shows no fault"
    return "" if seen else "nothing is wrong on what is seen"


def main(names: list[str]) -> int:
    """Judge the rows named, or all."""
    rows = [row for row in (*LAYERS.values(), *FAULTY.values()) if not names or row.name in names]
    table: Counter[tuple[str, bool]] = Counter()
    for row in rows:
        wrong = beliefs(row)
        table[row.fault or "right", not wrong] += 1
        if wrong or names:
            print(f"{row.name} ({row.fault or 'right'}): {wrong or 'as it says'} {broken(row) if names else ''}")
    print(f"\n{'class':14} as it says   not")
    for kind in dict.fromkeys(row.fault or "right" for row in rows):
        print(f"{kind:14} {table[kind, True]:10} {table[kind, False]:5}")
    return int(any(not good for _, good in table))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
