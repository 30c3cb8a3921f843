"""Repro in torch: what the script of a failure of a Function or an op of torch is made of, as text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opkit.verify.failures.store import Failure

NAME = MODULE = "torch"
CALL = '''

def call(values):
    """Call the Function or the op with arguments by name."""
    if not isinstance(target, type):
        return target(**values)
    return target.apply(*arguments(target.forward, values))


def results(values):
    found = call(values)
    return list(found) if isinstance(found, (list, tuple)) else [found]
'''


def settings(failure: Failure) -> list[str]:
    """Return what comes before the user's file: nothing."""
    return []


def leaf(text: str, value: Any, failure: Failure) -> str:
    """Return the tensor of an array as text: floats take a gradient."""
    made = f"torch.from_numpy({text}){_to_device(failure)}"
    return f"{made}.requires_grad_()" if value.dtype.kind == "f" else made


def _to_device(failure: Failure) -> str:
    """Return what puts a tensor on the device that the failure was found on."""
    device = failure.facts.get("device", "")
    return f".to({device!r})" if device else ""


def slopes(which: str, _part: str) -> list[str]:
    """Return the lines that print slopes and gradient at an element of an input."""
    return f"""\
outputs = results(values)
x = values[{which!r}]
(gradient,) = torch.autograd.grad(outputs[place][out], x, allow_unused=True, retain_graph=True)
step = 1e-6 * max(1.0, abs(float(x.detach()[at])))


def moved(by):
    other = x.detach().clone()
    other[at] += by
    return float(results({{**values, {which!r}: other.requires_grad_()}})[place].detach()[out])


print("slope from the left: ", (moved(0) - moved(-step)) / step)
print("slope from the right:", (moved(step) - moved(0)) / step)
print("backward gives:      ", None if gradient is None else float(gradient[at]))""".split("\n")


def ties(which: str, _part: str) -> list[str]:
    """Return the lines that move all that is equal to an element."""
    return f"""\
floats = {{name: item.detach() for name, item in values.items() if getattr(item, "requires_grad", False)}}
tied = {{name: item == values[{which!r}][at] for name, item in floats.items()}}


def moved(by):
    found = {{name: torch.where(tied[name], item + by, item) for name, item in floats.items()}}
    return results({{**values, **found}})[place][out]


by = torch.zeros((), dtype=values[{which!r}].dtype, requires_grad=True)
step = 1e-6 * max(1.0, abs(float(values[{which!r}].detach()[at])))
print("moved together:", {{name: item.nonzero().tolist() for name, item in tied.items()}})
print("slope:         ", float((moved(step) - moved(-step)).detach()) / (2 * step))
print("backward gives:", float(torch.autograd.grad(moved(by), by)[0]))""".split("\n")


def direction(which: str, _part: str) -> list[str]:
    """Return the lines that print slope and gradient along a direction."""
    return f"""\
x = values[{which!r}].detach()
along, at = torch.from_numpy(signed(x.shape, 0)).to(x), x.new_zeros((), requires_grad=True)


def moved(by):
    found = results({{**values, {which!r}: x + (at + by) * along}})
    return sum((item * torch.from_numpy(signed(item.shape, 1)).to(item)).sum() for item in found if item.requires_grad)


step = torch.finfo(x.dtype).eps ** (1 / 3)
print("slope along a direction:", float((moved(step) - moved(-step)).detach()) / (2 * step))
print("backward gives:         ", float(torch.autograd.grad(moved(0.0), at)[0]))""".split("\n")


def facts(failure: Failure) -> list[str]:
    """Return the lines that show results and gradients."""
    to, given = (
        _to_device(failure),
        f"number < {len(failure.douts)} else torch.ones_like(item) for number, item in open_",
    )
    return f"""\
before = {{name: item.detach().clone() for name, item in values.items() if isinstance(item, torch.Tensor)}}
outputs = results(values)
leaves = [item for item in values.values() if isinstance(item, torch.Tensor) and item.requires_grad]
open_ = [(number, item) for number, item in enumerate(outputs) if item.requires_grad]
seeds = [torch.from_numpy(data[f'dout_{{number}}']){to} if {given}]
kept = [seed.clone() for seed in seeds]
print("forward:", [(item.dtype, tuple(item.shape), item.detach().flatten()[:6]) for item in outputs])
found = torch.autograd.grad([item for _, item in open_], leaves, seeds, allow_unused=True, retain_graph=True)
print("backward:", [None if item is None else item.flatten()[:6] for item in found])
print("inputs unchanged:", all(torch.equal(values[name], item) for name, item in before.items()))
print("incoming gradients unchanged:", all(map(torch.equal, seeds, kept)))""".split("\n")


#: Each input where it alone needs a gradient; the fake kernel beside the real one; each format of floats.
OWN: Mapping[str, str] = {
    "GC202": """\
def gradients(needed):
    some = {name: item.detach().requires_grad_(name in needed) for name, item in floats.items()}
    found = [item.sum() for item in results({**values, **some}) if item.requires_grad]
    return dict(zip(needed, torch.autograd.grad(sum(found), [some[name] for name in needed], allow_unused=True)))


floats = {name: item for name, item in values.items() if getattr(item, "requires_grad", False)}
together = gradients(list(floats))
for name in floats:
    for text, item in (("with all", together[name]), ("alone", gradients([name])[name])):
        print(f"gradient of {name} {text}:", None if item is None else item.flatten()[:6])""",
    "GC206": """\
from torch._subclasses.fake_tensor import FakeTensorMode

with FakeTensorMode() as mode:
    given = {name: mode.from_tensor(item) if isinstance(item, torch.Tensor) else item for name, item in values.items()}
    fake = results(given)
for text, found in (("fake", fake), ("real", results(values))):
    print(f"{text} kernel:", [(item.dtype, tuple(item.shape), item.stride(), item.device) for item in found])""",
    "GC207": """\
floats = {name: item.detach() for name, item in values.items() if getattr(item, "requires_grad", False)}
for dtype in (torch.float32, torch.bfloat16, torch.float16):
    some = {name: item.to(torch.float16).to(dtype).requires_grad_() for name, item in floats.items()}
    try:
        found = [item for item in results({**values, **some}) if item.requires_grad]
        print(dtype, "forward: ", [item.detach().flatten()[:6].tolist() for item in found])
        slopes = torch.autograd.grad(sum(item.sum() for item in found), list(some.values()), allow_unused=True)
        print(dtype, "backward:", [None if item is None else item.flatten()[:6].tolist() for item in slopes])
    except Exception as error:
        print(dtype, type(error).__name__, error)""",
}
