"""The lines of a script that repeats a failure of a torch Function or library op; it needs torch and numpy only.

The user's file is run as it is; nothing of opkit takes part.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opkit.verify.failures.store import Failure
from opkit.verify.options import RunOptions
from opkit.verify.targets.imports import imported_roots

_CALL = '''

def call(values):
    """Call the Function or the op with arguments by name."""
    if not isinstance(target, type):
        return target(**values)
    parameters = inspect.signature(target.forward).parameters.values()
    args = []
    for item in parameters:
        if item.name in values:
            args += values[item.name] if item.kind is item.VAR_POSITIONAL else [values[item.name]]
    return target.apply(*args)


def results(values):
    found = call(values)
    return list(found) if isinstance(found, (list, tuple)) else [found]
'''


def torch_lines(failure: Failure, options: RunOptions) -> list[str] | None:
    """Return the script's lines, None where the op is none of torch's, or its options cannot be written down."""
    file, _, name = str(failure.facts.get("op", "")).rpartition("::")
    root = str(failure.facts.get("root") or file)
    if not file or "#" in name or "torch" not in imported_roots(root) or failure.code in ("GC171",):
        return None
    attrs = dict(failure.case.attrs)
    if not all(is_plain(value) for value in attrs.values()):
        return None
    lines = [
        "import inspect",
        "import runpy",
        "from functools import reduce",
        "",
        "import numpy as np",
        "import torch",
        "",
    ]
    lines += [f"names = runpy.run_path({root!r})"]
    first, *rest = name.split(".")
    lines += [f"target = reduce(getattr, {rest!r}, names[{first!r}])", 'data = np.load(__file__[:-3] + ".npz")']
    lines += [*_CALL.splitlines(), "", "", *_values(failure, attrs)]
    return [*lines, *_run(failure), "print(__doc__)"]


def is_plain(value: Any) -> bool:
    """Say whether an option can be written down as it is."""
    if isinstance(value, (list, tuple)):
        return all(map(is_plain, value))
    return value is None or isinstance(value, (bool, int, float, str))


def _values(failure: Failure, attrs: Mapping[str, Any]) -> list[str]:
    lines = [f"values = {dict(attrs)!r}"]
    for name, value in failure.case.inputs.items():
        if isinstance(value, (list, tuple)):
            items = ", ".join(_leaf(stored(name, index), item, failure) for index, item in enumerate(value))
            lines.append(f"values[{name!r}] = [{items}]")
        elif value is not None:
            lines.append(f"values[{name!r}] = {_leaf(stored(name, 0), value, failure)}")
    return lines


def stored(name: str, index: int) -> str:
    """Return the expression of an array in the script's data."""
    return f"data[{f'{name}_{index}'!r}]"


def _leaf(text: str, value: Any, failure: Failure) -> str:
    made = f"torch.from_numpy({text}){_moved(failure)}"
    return f"{made}.requires_grad_()" if value.dtype.kind == "f" else made


def _moved(failure: Failure) -> str:
    """Return what puts a tensor on the device that the failure was found on."""
    device = failure.facts.get("device", "")
    return f".to({device!r})" if device else ""


def _run(failure: Failure) -> list[str]:
    which = failure.key[1].partition("[")[0]
    element, output = failure.facts.get("element"), failure.facts.get("output_element")
    place = int(failure.key[2][1:]) if failure.key[2][1:].isdigit() else 0
    if element is None or output is None or isinstance(failure.case.inputs.get(which), (list, tuple)):
        return _facts(failure)
    return [
        "outputs = results(values)",
        f"at, out, place = {tuple(element)!r}, {tuple(output)!r}, {place}",
        f"x = values[{which!r}]",
        "(gradient,) = torch.autograd.grad(outputs[place][out], x, allow_unused=True, retain_graph=True)",
        "step = 1e-6 * max(1.0, abs(float(x.detach()[at])))",
        "",
        "",
        "def moved(by):",
        "    other = x.detach().clone()",
        "    other[at] += by",
        f"    return float(results({{**values, {which!r}: other.requires_grad_()}})[place].detach()[out])",
        "",
        "",
        'print("slope from the left: ", (moved(0) - moved(-step)) / step)',
        'print("slope from the right:", (moved(step) - moved(0)) / step)',
        'print("backward gives:      ", None if gradient is None else float(gradient[at]))',
    ]


def _facts(failure: Failure) -> list[str]:
    douts = len(failure.douts)
    return [
        "before = {name: item.detach().clone() for name, item in values.items() if isinstance(item, torch.Tensor)}",
        "outputs = results(values)",
        "leaves = [item for item in values.values() if isinstance(item, torch.Tensor) and item.requires_grad]",
        "open_ = [(number, item) for number, item in enumerate(outputs) if item.requires_grad]",
        f"seeds = [torch.from_numpy(data[f'dout_{{number}}']){_moved(failure)} if number < {douts}"
        " else torch.ones_like(item) for number, item in open_]",
        "kept = [seed.clone() for seed in seeds]",
        'print("forward:", [(item.dtype, tuple(item.shape)) for item in outputs])',
        "found = torch.autograd.grad([item for _, item in open_], leaves, seeds, allow_unused=True, retain_graph=True)",
        'print("backward:", [None if item is None else item.flatten()[:6] for item in found])',
        'print("inputs unchanged:", all(torch.equal(values[name], item) for name, item in before.items()))',
        'print("incoming gradients unchanged:", all(map(torch.equal, seeds, kept)))',
    ]
