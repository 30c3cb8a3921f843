"""What a Function and its context must keep to beside a correct gradient (GC123, GC130, GC131, GC201 to GC208).

Each check runs the Function in a way in which a training step may, and compares; none reads its source.

Step: one case as the checks of a Function use it: applied again and again, as a training step may.

What is compared is the checks' business.

Storage offsets (GC130, GC131): tensors that begin in the middle of their memory, as slices and parts of batches do.

numpy's views become tensors that begin where their memory does, so the checks of layouts never see an offset.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch

from opkit.checker import Arrays, Attrs, CheckCode, Results
from opkit.checker.model.agreement import agree, sums_agree
from opkit.checker.model.codes import CODES
from opkit.checker.model.evaluate import InputLeaf, leaves_of, mapped
from opkit.checker.model.own import Fault, OwnCheck
from opkit.ops.core.types import Function
from opkit.record import record
from opkit.verify.codes import ACCUMULATED, FORWARD_MODE, HALF, KEPT, NEEDS, UNDEFINED, UNFILLED
from opkit.verify.subjects.foreign.running import differing, raised
from opkit.verify.subjects.half_precision import half_precision
from opkit.verify.subjects.parameters import nested
from opkit.verify.subjects.torch.device import Device
from opkit.verify.subjects.torch.runner import Applied, Runner
from opkit.verify.subjects.torch.tensors import array_of, arrays_of

#: Elements before and after a tensor in its memory.
_BEFORE, _AFTER = 5, 3


def forward_offset(step: Step) -> Iterator[Fault]:
    """GC130: results of inputs with a storage offset are those of inputs without."""
    if step.runner.changes_inputs:  # what it gets is a tensor of its own
        return
    plain = step.apply(step.apart).outputs
    try:
        moved = step.apply(partial(_within, step.runner.device)).outputs
    except Exception as error:  # user code
        yield raised("forward raises for inputs with a storage offset", error)
        return
    for number, (one, other) in enumerate(zip(plain, moved)):
        if not agree(array_of(one), array_of(other)):
            yield Fault(f"result {number} is another one for inputs with a storage offset")


def backward_offset(step: Step) -> Iterator[Fault]:
    """GC131: gradients of incoming gradients, and of inputs, with a storage offset are those of tensors without."""
    dense, within = step.apart, partial(_within, step.runner.device)
    plain = step.gradients(step.apply(dense))
    ways: list[tuple[str, Function, Function]] = [("an incoming gradient", dense, within)]
    if not step.runner.changes_inputs:
        ways.append(("inputs", within, dense))
    for what, make, make_seed in ways:
        try:
            applied = step.apply(make)
        except Exception:  # user code: forward's own check reports it
            continue
        try:
            moved = step.gradients(applied, [make_seed(np.asarray(dout)) for dout in step.douts])
        except Exception as error:  # user code
            yield raised(f"backward raises for {what} with a storage offset", error)
            return
        yield from differing(plain, moved, f"is another one for {what} with a storage offset")


def _within(device: Device, array: np.ndarray) -> Any:
    """Return a tensor of an array's values within a larger memory, whose other elements are NaN where they can be."""
    count = array.size
    memory = np.full(_BEFORE + count + _AFTER, np.nan if array.dtype.kind == "f" else 0, array.dtype)
    memory[_BEFORE : _BEFORE + count] = array.reshape(-1)
    return device.share(memory)[_BEFORE : _BEFORE + count].view(array.shape)


@record
class Step:
    """One case.

    Args:
        runner: applies the Function.
        arrays: inputs by name.
        attrs: all else by name.
        douts: the incoming gradients.
    """

    runner: Runner
    arrays: Arrays
    attrs: Attrs
    douts: Results

    def apply(self, make: Function | None = None, needs: frozenset[str] | None = None) -> Applied:
        """Apply the Function; see ``Runner.apply``. What it writes to is not there for the next one."""
        arrays = self.arrays if make else mapped(self.arrays, partial(np.array, order="K"))
        return self.runner.apply(arrays, self.attrs, needs, make)

    def apart(self, array: np.ndarray) -> Any:
        """Return a tensor that nothing else holds."""
        return self.runner.device.private(np.asarray(array))

    def seeds(self) -> list[Any]:
        """Return the incoming gradients as tensors."""
        return list(map(self.apart, self.douts))

    def gradients(
        self, applied: Applied, seeds: Sequence[Any] | None = None, only: Sequence[int] | None = None
    ) -> dict[InputLeaf, np.ndarray | None]:
        """Return the gradients of an application; see ``Applied.gradients``."""
        return arrays_of(applied.gradients(self.seeds() if seeds is None else seeds, only))


class _Nothing(torch.autograd.Function):  # type: ignore[misc]  # without torch its base is unknown
    """A use of a tensor that gives no gradient back: what comes before gets an undefined one."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x.clone()

    @staticmethod
    def backward(ctx: Any, dy: Any) -> Any:
        return None


def own_checks(runner: Runner) -> Sequence[OwnCheck]:
    """Return the checks of a Function."""
    checks: list[tuple[CheckCode, Callable[[Step], Iterator[Fault]]]] = [
        (CODES["GC130"], forward_offset),
        (CODES["GC131"], backward_offset),
        (CODES["GC123"], _saved),
        (UNDEFINED, _undefined),
        (NEEDS, _needs),
        (KEPT, _kept),
        (ACCUMULATED, _accumulated),
    ]
    if runner.has_forward_mode:
        checks.append((FORWARD_MODE, _forward_mode))
    steps = [OwnCheck(row, partial(_run, runner, check)) for row, check in checks]
    steps.append(OwnCheck(UNFILLED, partial(_run, runner, _unfilled), is_thorough=True))
    return (*steps, OwnCheck(HALF, partial(half_precision, runner.run_in)))


def _run(
    runner: Runner, check: Callable[[Step], Iterator[Fault]], arrays: Arrays, attrs: Attrs, douts: Results
) -> Iterator[Fault]:
    return check(Step(runner, arrays, attrs, douts))


def _saved(step: Step) -> Iterator[Fault]:
    """GC123: a change of what forward saved of its own is a line: torch refuses a second backward of it aloud."""
    applied = step.apply(step.apart)
    known = {tensor.data_ptr() for _, tensor in _held(applied)}  # inputs and results are looked after throughout
    saved = [
        tensor
        for node in dict.fromkeys(item.grad_fn for item in applied.outputs)
        for tensor in getattr(node, "saved_tensors", ())
        if tensor is not None and tensor.data_ptr() not in known
    ]
    before = [tensor._version for tensor in saved]
    step.gradients(applied)
    if before != [tensor._version for tensor in saved]:
        said = (
            "a second backward of one forward, as with retain_graph=True (backward changes what forward saved in place)"
        )
        yield Fault(said, is_line=True)


def _undefined(step: Step) -> Iterator[Fault]:
    """GC201: outputs that nothing uses give what zeros give, and no incoming gradient at all gives nothing."""
    applied = step.apply()
    open_ = [place for place, item in enumerate(applied.outputs) if item.requires_grad]
    seeds = step.seeds()
    if not open_ or not applied.sources():
        return
    for place in open_ if len(open_) > 1 else ():
        others = [seed if number == place else torch.zeros_like(seed) for number, seed in enumerate(seeds)]
        expected = step.gradients(step.apply(), others)
        try:
            actual = step.gradients(step.apply(), seeds, [place])
        except Exception as error:  # user code
            yield raised(f"backward raises where only output {place} is used", error)
            return
        what = f"is another one where only output {place} is used than with zeros for the other outputs"
        yield from differing(expected, actual, what)
    with torch.enable_grad():
        used = [_Nothing.apply(applied.outputs[place]) for place in open_]
    try:
        past = Applied(used, applied.leaves, device=applied.device)
        found = step.gradients(past, [seeds[place] for place in open_])
    except Exception as error:  # user code
        yield raised("backward raises where no incoming gradient is defined", error)
        return
    yield from differing(dict.fromkeys(found), found, "is not zero where no incoming gradient is")


def _needs(step: Step) -> Iterator[Fault]:
    """GC202: each input's gradient where it alone needs one is that where all do."""
    applied = step.apply()
    names = list(dict.fromkeys(leaf.name for leaf in applied.sources()))
    if len(names) < 2:
        return
    expected = step.gradients(applied)
    for name in names:
        try:
            actual = step.gradients(step.apply(needs=frozenset({name})))
        except Exception as error:  # user code
            yield raised(f"backward raises where {name} alone needs a gradient", error)
            return
        own = {leaf: item for leaf, item in expected.items() if leaf.name == name}
        yield from differing(own, actual, f"is another one where {name} is the only input that needs one")


def _kept(step: Step) -> Iterator[Fault]:
    """GC203: a later change in place of an input or a result is refused by backward, or makes no difference.

    Nobody changes a number: what forward takes one for, and gets no gradient, is an option.
    """
    if step.runner.changes_inputs:
        return
    expected = step.gradients(step.apply())
    first = step.apply(step.apart)
    held = list(_held(first))
    options = {f"input {leaf}" for leaf in first.leaves.keys() - first.sources() if _may_be_a_number(step, leaf)}
    for place, (label, tensor) in enumerate(held):
        if not tensor.dtype.is_floating_point or not tensor.numel() or label in options:
            continue
        applied = step.apply(step.apart)
        with torch.no_grad():
            changed = list(_held(applied))[place][1].detach()
            changed.mul_(1.5).add_(0.25)  # the two share the counter of changes that saved tensors look at
        try:
            actual = step.gradients(applied)
        except Exception:  # refused: what is saved as torch wants it notices the change
            continue
        what = f"is another one when {label} is changed in place after forward"
        yield from differing(expected, actual, f"{what}; a tensor kept by ctx.save_for_backward would refuse")


def _may_be_a_number(step: Step, leaf: InputLeaf) -> bool:
    """Return whether forward takes a number in the place of an input."""
    made = {place: step.apart(array) for place, array in leaves_of(step.arrays)}
    try:
        step.runner.results({**step.attrs, **nested(made), leaf.name: 1.0})
    except Exception:  # user code
        return False
    return True


def _held(applied: Applied) -> list[tuple[str, Any]]:
    """Return the tensors of an application that its caller holds, with what messages call them."""
    inputs = [(f"input {leaf}", tensor) for leaf, tensor in applied.leaves.items()]
    several = len(applied.outputs) > 1
    results = [(f"result {place}" if several else "its result", item) for place, item in enumerate(applied.outputs)]
    return [*inputs, *results]


def _accumulated(step: Step) -> Iterator[Fault]:
    """GC204: a training step's use of ``x.grad``: accumulated, then set to zero; the inputs stay as they are."""
    applied = step.apply(step.apart)
    outputs = [item for item in applied.outputs if item.requires_grad]
    sources = applied.sources()
    if not outputs or not sources or step.runner.changes_inputs:
        return
    before = [tensor.detach().clone() for tensor in sources.values()]
    try:
        for _ in range(2):  # as of a sum
            torch.autograd.backward(outputs, list(map(torch.ones_like, outputs)), retain_graph=True)
    except Exception:  # a context that serves once; other checks run backward as often as it takes
        return
    for tensor in sources.values():
        if tensor.grad is not None:
            tensor.grad.zero_()
    for (leaf, tensor), old in zip(sources.items(), before):
        if not torch.equal(tensor.detach().nan_to_num(), old.nan_to_num()):
            what = f"input {leaf} changes when gradients are accumulated and reset"
            yield Fault(f"{what}: the gradient that backward returned lies in its memory", input=leaf.name)


def _unfilled(step: Step) -> Iterator[Fault]:
    """GC208: nothing turns NaN where torch fills memory with it that it hands out unfilled."""
    usual = _given(step)
    before = torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()
    torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            filled = _given(step)
    finally:
        torch.use_deterministic_algorithms(before[0], warn_only=before[1])
    for (what, name), one in usual.items():
        other = filled.get((what, name))
        if one is None or other is None or one.shape != other.shape:
            continue
        count = np.count_nonzero(np.isnan(other) & ~np.isnan(one))
        if count:
            said = f"{what} is memory that nobody filled, as torch.empty hands it out"
            yield Fault(f"{said}, in {count} of its {one.size} elements", input=name)


def _given(step: Step) -> dict[tuple[str, str], np.ndarray | None]:
    """Return results and gradients by what messages call them, and by the input that they are of."""
    applied = step.apply()
    results: dict[tuple[str, str], np.ndarray | None] = {
        (f"result {place}", ""): array_of(item) for place, item in enumerate(applied.outputs)
    }
    return results | {(f"the gradient of {leaf}", leaf.name): item for leaf, item in step.gradients(applied).items()}


def _forward_mode(step: Step) -> Iterator[Fault]:
    """GC205: <dy, jvp(v)> is <vjp(dy), v>."""
    rng = np.random.default_rng(205)
    applied = step.apply()
    gradients = step.gradients(applied)
    arrays = dict(leaves_of(step.arrays))
    tangents = {leaf: rng.uniform(-1, 1, arrays[leaf].shape).astype(arrays[leaf].dtype) for leaf in applied.sources()}
    try:
        pushed = _pushed(step, tangents)
    except Exception as error:  # user code
        yield raised("jvp raises", error)
        return
    if all(item is None for item in pushed):  # a stub
        return
    left = [_dot(dout, item.detach().cpu()) for dout, item in zip(step.douts, pushed) if item is not None]
    right = [_dot(gradients[leaf], tangent) for leaf, tangent in tangents.items() if gradients[leaf] is not None]
    eps = max((float(np.finfo(item.dtype).eps) for item in tangents.values()), default=0.0)
    if not sums_agree(left, right, eps):
        message = "jvp disagrees with backward along a random direction"
        yield Fault(message, expected=sum(right), actual=sum(left))


def _dot(one: Any, other: Any) -> float:
    return float((np.asarray(one, np.float64) * np.asarray(other, np.float64)).sum())


def _pushed(step: Step, tangents: dict[InputLeaf, np.ndarray]) -> list[Any]:
    """Return the outputs' tangents, None for those without one."""
    from torch.autograd import forward_ad

    with forward_ad.dual_level(), torch.enable_grad():
        made = {leaf: step.apart(array) for leaf, array in leaves_of(step.arrays)}
        for leaf, tangent in tangents.items():
            made[leaf] = forward_ad.make_dual(made[leaf], step.apart(tangent))
        found = step.runner.results({**step.attrs, **nested(made)})
        return [forward_ad.unpack_dual(item).tangent for item in found]
