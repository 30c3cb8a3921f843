"""What a Function and its context must keep to beside a correct gradient (GC130, GC131, GC201 to GC207).

Each check runs the Function in a way in which a training step may, and compares; none reads its source.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch

from opkit.checker import CheckCode
from opkit.checker.model.agreement import agree, sums_agree
from opkit.checker.model.codes import CODES
from opkit.checker.model.own import Fault, OwnCheck
from opkit.verify.codes import ACCUMULATED, FORWARD_MODE, HALF, KEPT, NEEDS, UNDEFINED
from opkit.verify.subjects.torch.half import half_precision
from opkit.verify.subjects.torch.offset import backward_offset, forward_offset
from opkit.verify.subjects.torch.runner import Applied, OwnRunner, gradients_of
from opkit.verify.subjects.torch.tensors import array_of, is_float

_Key = tuple[str, "int | None"]


class _Nothing(torch.autograd.Function):  # type: ignore[misc]  # without torch its base is unknown
    """A use of a tensor that gives no gradient back: what comes before gets an undefined one."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x.clone()

    @staticmethod
    def backward(ctx: Any, dy: Any) -> Any:
        return None


def own_checks(runner: OwnRunner) -> Sequence[OwnCheck]:
    """Return the checks of a Function."""
    checks: list[tuple[CheckCode, Callable[..., list[Fault]]]] = [
        (CODES["GC130"], forward_offset),
        (CODES["GC131"], backward_offset),
        (UNDEFINED, _undefined),
        (NEEDS, _needs),
        (KEPT, _kept),
        (ACCUMULATED, _accumulated),
        (HALF, half_precision),
    ]
    if runner.has_forward_mode:
        checks.append((FORWARD_MODE, _forward_mode))
    return tuple(OwnCheck(row, partial(check, runner)) for row, check in checks)


def _seeds(runner: OwnRunner, douts: Sequence[np.ndarray]) -> list[Any]:
    return [runner.device.private(np.asarray(dout)) for dout in douts]


def _agree(one: Any, other: Any) -> bool:
    """Say whether two gradients agree to within rounding; None counts as zeros."""
    return agree(None if one is None else array_of(one), None if other is None else array_of(other))


def _label(key: _Key) -> str:
    return key[0] if key[1] is None else f"{key[0]}[{key[1]}]"


def _difference(
    expected: Mapping[_Key, Any], actual: Mapping[_Key, Any], keys: Sequence[_Key] | None = None
) -> _Key | None:
    """Return the first leaf whose gradients differ, None where they agree."""
    for key in expected if keys is None else keys:
        if not _agree(expected.get(key), actual.get(key)):
            return key
    return None


def _undefined(
    runner: OwnRunner, arrays: Mapping[str, Any], attrs: Mapping[str, Any], douts: Sequence[np.ndarray]
) -> list[Fault]:
    """GC201: outputs that nothing uses give what zeros give, and no incoming gradient at all gives nothing."""
    applied = runner.apply(arrays, attrs)
    open_ = [place for place, item in enumerate(applied.outputs) if item.requires_grad]
    seeds = _seeds(runner, douts)
    if not open_ or not applied.sources():
        return []
    for place in open_ if len(open_) > 1 else ():
        others = [seed if number == place else torch.zeros_like(seed) for number, seed in enumerate(seeds)]
        expected = gradients_of(runner.apply(arrays, attrs), others)
        try:
            actual = gradients_of(runner.apply(arrays, attrs), seeds, [place])
        except Exception as error:  # user code
            return [Fault(f"backward raises where only output {place} is used: {type(error).__name__}: {error}")]
        key = _difference(expected, actual)
        if key is not None:
            what = f"the gradient of {_label(key)} is another one where only output {place} is used"
            return [Fault(f"{what} than with zeros for the other outputs", input=key[0])]
    return _nothing_comes_in(applied, seeds, open_)


def _nothing_comes_in(applied: Applied, seeds: Sequence[Any], open_: Sequence[int]) -> list[Fault]:
    with torch.enable_grad():
        past = Applied(
            [_Nothing.apply(applied.outputs[place]) for place in open_], applied.leaves, device=applied.device
        )
    try:
        found = gradients_of(past, [seeds[place] for place in open_])
    except Exception as error:  # user code
        return [Fault(f"backward raises where no incoming gradient is defined: {type(error).__name__}: {error}")]
    for key, value in found.items():
        if not _agree(value, None):
            return [Fault(f"the gradient of {_label(key)} is not zero where no incoming gradient is", input=key[0])]
    return []


def _needs(
    runner: OwnRunner, arrays: Mapping[str, Any], attrs: Mapping[str, Any], douts: Sequence[np.ndarray]
) -> list[Fault]:
    """GC202: each input's gradient where it alone needs one is that where all do."""
    applied = runner.apply(arrays, attrs)
    names = list(dict.fromkeys(name for name, _, _ in applied.sources()))
    if len(names) < 2:
        return []
    expected = gradients_of(applied, _seeds(runner, douts))
    for name in names:
        try:
            alone = runner.apply(arrays, attrs, frozenset({name}))
            actual = gradients_of(alone, _seeds(runner, douts))
        except Exception as error:  # user code
            return [Fault(f"backward raises where {name} alone needs a gradient: {type(error).__name__}: {error}")]
        key = _difference(expected, actual, [key for key in expected if key[0] == name])
        if key is not None:
            return [Fault(f"the gradient of {_label(key)} is another one where {name} alone needs one", input=name)]
    return []


def _kept(
    runner: OwnRunner, arrays: Mapping[str, Any], attrs: Mapping[str, Any], douts: Sequence[np.ndarray]
) -> list[Fault]:
    """GC203: a later change in place of an input or a result is refused by backward, or makes no difference."""
    if runner.changes_inputs:
        return []
    expected = gradients_of(runner.apply(arrays, attrs), _seeds(runner, douts))
    probe = runner.apply(arrays, attrs, make=runner.device.private)
    inputs = [(name, index) for name, value in probe.leaves.items() for index in _indices(value)]
    for what in [*inputs, *range(len(probe.outputs))]:
        applied = runner.apply(arrays, attrs, make=runner.device.private)
        if isinstance(what, int):
            tensor, label = applied.outputs[what], f"result {what}" if len(probe.outputs) > 1 else "its result"
        else:
            value = applied.leaves[what[0]]
            tensor, label = (value if what[1] is None else value[what[1]]), f"input {_label(what)}"
        if not is_float(tensor) or not tensor.numel():
            continue
        with torch.no_grad():
            tensor.detach().mul_(1.5).add_(0.25)  # the two share the counter of changes that saved tensors look at
        try:
            actual = gradients_of(applied, _seeds(runner, douts))
        except Exception:  # refused: what is saved as torch wants it notices the change
            continue
        key = _difference(expected, actual)
        if key is not None:
            message = f"backward gives another gradient of {_label(key)} when {label} is changed in place after forward"
            return [Fault(f"{message}; a tensor kept by ctx.save_for_backward would refuse", input=key[0])]
    return []


def _indices(value: Any) -> list[int | None]:
    return [] if value is None else list(range(len(value))) if isinstance(value, list) else [None]


def _accumulated(
    runner: OwnRunner, arrays: Mapping[str, Any], attrs: Mapping[str, Any], douts: Sequence[np.ndarray]
) -> list[Fault]:
    """GC204: a training step's use of ``x.grad``: accumulated, then set to zero; the inputs stay as they are."""
    applied = runner.apply(arrays, attrs, make=runner.device.private)
    roots = [(item, torch.ones_like(item)) for item in applied.outputs if item.requires_grad]  # as of a sum
    sources = applied.sources()
    if not roots or not sources or runner.changes_inputs:
        return []
    before = [leaf.detach().clone() for _, _, leaf in sources]
    outputs, seeds = [item for item, _ in roots], [seed for _, seed in roots]
    try:
        for _ in range(2):
            torch.autograd.backward(outputs, [seed.clone() for seed in seeds], retain_graph=True)
    except Exception:  # a context that serves once; other checks run backward as often as it takes
        return []
    for _, _, leaf in sources:
        if leaf.grad is not None:
            leaf.grad.zero_()
    for (name, index, leaf), old in zip(sources, before):
        if not torch.equal(leaf.detach().nan_to_num(), old.nan_to_num()):
            what = f"input {_label((name, index))} changes when gradients are accumulated and reset"
            return [Fault(f"{what}: the gradient that backward returned lies in its memory", input=name)]
    return []


def _forward_mode(
    runner: OwnRunner, arrays: Mapping[str, Any], attrs: Mapping[str, Any], douts: Sequence[np.ndarray]
) -> list[Fault]:
    """GC205: <dy, jvp(v)> is <vjp(dy), v>."""
    rng = np.random.default_rng(205)
    applied = runner.apply(arrays, attrs)
    seeds = _seeds(runner, douts)
    gradients = gradients_of(applied, seeds)
    tangents = {
        (name, index): runner.device.private(rng.uniform(-1, 1, tuple(leaf.shape)).astype(array_of(leaf).dtype))
        for name, index, leaf in applied.sources()
    }
    try:
        pushed = _pushed(runner, arrays, attrs, tangents)
    except Exception as error:  # user code
        return [Fault(f"jvp raises: {type(error).__name__}: {error}")]
    if all(item is None for item in pushed):  # a stub
        return []
    left = [_dot(seed, item) for seed, item in zip(seeds, pushed) if item is not None]
    right = [_dot(gradients[key], tangent) for key, tangent in tangents.items() if gradients[key] is not None]
    eps = max((torch.finfo(leaf.dtype).eps for _, _, leaf in applied.sources()), default=0.0)
    if sums_agree(left, right, eps):
        return []
    message = "jvp disagrees with backward along a random direction"
    return [Fault(message, expected=sum(right), actual=sum(left))]


def _dot(one: Any, other: Any) -> float:
    return float((one.detach().cpu().double() * other.detach().cpu().double()).sum())


def _pushed(
    runner: OwnRunner, arrays: Mapping[str, Any], attrs: Mapping[str, Any], tangents: Mapping[_Key, Any]
) -> list[Any]:
    """Return the outputs' tangents, None for those without one."""
    from torch.autograd import forward_ad

    with forward_ad.dual_level():

        def make(name: str, index: int | None, array: np.ndarray) -> Any:
            tensor = runner.device.private(array)
            tangent = tangents.get((name, index))
            return tensor if tangent is None else forward_ad.make_dual(tensor, tangent)

        values: dict[str, Any] = {}
        for name in runner.order:
            value = arrays.get(name)
            if isinstance(value, (list, tuple)):
                values[name] = [make(name, index, item) for index, item in enumerate(value)]
            elif value is not None:
                values[name] = make(name, None, value)
        with torch.enable_grad():
            found = runner.results({**attrs, **values})
        return [forward_ad.unpack_dual(item).tangent for item in found]
