"""The lines of a script that repeats a failure of a custom function of torch or JAX; it needs them and numpy only.

The user's file is run as it is; nothing of opkit takes part.

Trees: how the arrays of an input stand in the tree that a function takes, as Python text for a script.

A fresh interpreter loads the target once more and says so; the arrays are those of the failure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from opkit.checker.model.evaluate import input_of
from opkit.record import record
from opkit.verify.failures.store import Failure
from opkit.verify.isolation.child import FreshCall, Outbox, Task
from opkit.verify.isolation.supervisor import Supervisor, can_fork
from opkit.verify.options import RunOptions
from opkit.verify.subjects.functions import is_plain_option
from opkit.verify.targets.imports import imported_roots
from opkit.verify.targets.load import load
from opkit.verify.targets.target import resolve

#: Seconds for loading and some calls where the run has no time limit.
_SECONDS = 60.0


def trees(failure: Failure, options: RunOptions) -> Mapping[tuple[str, int], str] | None:
    """Return {(input, number of arrays): text}, ``leaf[0]`` ... in it for its arrays; none for a plain list of them.

    None where some tree has no text (its class cannot be named), or where the target cannot be loaded.
    """
    if not can_fork():
        return None
    task = Task(0, FreshCall(__name__, (failure, options)), options.timeout or _SECONDS)
    found = next((message for _, message in Supervisor(1).run([task]) if isinstance(message, dict)), None)
    return None if found is None or "" in found.values() else found


def run(failure: Failure, options: RunOptions, outbox: Outbox) -> None:
    """Load the target of a failure and send its trees; in a fresh interpreter.

    What no case shows, the script that called the function does.
    """
    outbox.allow(options.memory)
    root, name = str(failure.facts.get("root")), str(failure.facts["op"]).rpartition("::")[2]
    found: dict[tuple[str, int], str] = {}
    for word in (f"{root}::{name}", root):
        if not found:
            (target,) = resolve([word])
            load(target, options, outbox.flight).made()
            from opkit.verify.subjects.jax.arrays import texts_known_of  # not before the file has imported JAX

            found = texts_known_of(name)
    outbox.send(found)


_ARGUMENTS = '''

def arguments(function, values):
    """Return arguments by name in the order of a function; what is left out has its default."""
    args = []
    for item in inspect.signature(function).parameters.values():
        if item.name in values:
            args += values[item.name] if item.kind is item.VAR_POSITIONAL else [values[item.name]]
        elif item.default is not item.empty and item.kind is item.POSITIONAL_OR_KEYWORD:
            args.append(item.default)
    return args
'''

_TORCH_CALL = '''

def call(values):
    """Call the Function or the op with arguments by name."""
    if not isinstance(target, type):
        return target(**values)
    return target.apply(*arguments(target.forward, values))


def results(values):
    found = call(values)
    return list(found) if isinstance(found, (list, tuple)) else [found]
'''

_JAX_CALL = '''

def results(values):
    """Call the function with arguments by name and return the arrays that it gives."""
    return jax.tree.leaves(target(*arguments(target, values)))
'''


def framework_lines(failure: Failure, options: RunOptions) -> tuple[str, list[str]] | None:
    """Return what the script needs, and its lines.

    None where the op is none of a framework's, or its options or arguments cannot be written down.
    """
    file, _, name = str(failure.facts.get("op", "")).rpartition("::")
    root = str(failure.facts.get("root") or file)
    attrs, inputs = dict(failure.case.attrs), failure.case.inputs
    if not file or "#" in name or failure.code == "GC171" or not all(map(is_plain_option, attrs.values())):
        return None
    kind = next((item for item in _FRAMEWORKS if item.module in imported_roots(root)), None)
    has_lists = any(isinstance(value, (list, tuple)) for value in inputs.values())
    texts = trees(failure, options) if kind is _JAX and has_lists else {}
    if kind is None or texts is None:
        return None
    first, *rest = name.split(".")
    lines = ["import inspect", "import runpy", "", f"import {kind.module}", "import numpy as np", ""]
    lines += [*kind.settings(failure), f"names = runpy.run_path({root!r})"]
    lines += [f"target = {'.'.join([f'names[{first!r}]', *rest])}", 'data = np.load(__file__[:-3] + ".npz")']
    lines += [*_ARGUMENTS.splitlines(), *kind.call.splitlines(), "", "", f"values = {attrs!r}"]
    for key, value in inputs.items():
        if isinstance(value, (list, tuple)):
            leaves = ", ".join(kind.leaf(_stored(key, index), item, failure) for index, item in enumerate(value))
            lines += [f"leaf = [{leaves}]", f"values[{key!r}] = {texts.get((key, len(value)), 'leaf')}"]
        elif value is not None:
            lines.append(f"values[{key!r}] = {kind.leaf(_stored(key, 0), value, failure)}")
    return f"{kind.name} and numpy", [*lines, *_shown(failure, kind), "print(__doc__)"]


def _stored(name: str, index: int) -> str:
    """Return the expression of an array in the script's data."""
    return f"data[{f'{name}_{index}'!r}]"


def _shown(failure: Failure, kind: _Framework) -> list[str]:
    """Return the lines that compare one entry of the Jacobian with differences, or show what the function does."""
    which = input_of(failure.key[1])
    part = failure.key[1].removeprefix(which)
    element, output = failure.facts.get("element"), failure.facts.get("output_element")
    place = int(failure.key[2][1:]) if failure.key[2][1:].isdigit() else 0
    is_list = isinstance(failure.case.inputs.get(which), (list, tuple))
    is_single = not is_list or bool(part and kind is _JAX)
    if failure.code == "GC102" and is_single:
        return [*_SIGNED.splitlines(), *kind.direction(which, part)]
    if element is None or output is None or not is_single:
        return kind.facts(failure)
    at = f"at, out, place = {tuple(element)!r}, {tuple(output)!r}, {place}"
    return [at, *kind.slopes(which, part)]


_SIGNED = """

def signed(shape, seed):
    \"\"\"Return numbers of both signs, none near 0, the same at every call.\"\"\"
    rng = np.random.default_rng(seed)
    return rng.uniform(0.5, 1.5, shape) * rng.choice([-1.0, 1.0], shape)

"""


@record
class _Framework:
    """What differs between frameworks.

    Args:
        name: as people write it.
        module: which files import.
        call: lines that define ``results(values)``.
        settings: gives the lines before the user's file is run.
        leaf: gives the text of an array: of its text in the data, its value, and the failure.
        slopes: gives the lines that print slopes and gradient at an element of an input, and of a part of its tree.
        direction: gives those that print them along a direction, with ``signed(shape, seed)`` for it and the results.
        facts: gives the lines that show results and gradients.
    """

    name: str
    module: str
    call: str
    settings: Callable[[Failure], list[str]]
    leaf: Callable[[str, Any, Failure], str]
    slopes: Callable[[str, str], list[str]]
    direction: Callable[[str, str], list[str]]
    facts: Callable[[Failure], list[str]]


# --- torch
def _torch_leaf(text: str, value: Any, failure: Failure) -> str:
    made = f"torch.from_numpy({text}){_to_device(failure)}"
    return f"{made}.requires_grad_()" if value.dtype.kind == "f" else made


def _to_device(failure: Failure) -> str:
    """Return what puts a tensor on the device that the failure was found on."""
    device = failure.facts.get("device", "")
    return f".to({device!r})" if device else ""


def _torch_slopes(which: str, _part: str) -> list[str]:
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


def _torch_direction(which: str, _part: str) -> list[str]:
    return f"""\
x = values[{which!r}].detach()
along, at = torch.from_numpy(signed(x.shape, 0)).to(x), x.new_zeros((), requires_grad=True)


def moved(by):
    found = results({{**values, {which!r}: x + (at + by) * along}})
    return sum((item * torch.from_numpy(signed(item.shape, 1)).to(item)).sum() for item in found if item.requires_grad)


step = torch.finfo(x.dtype).eps ** (1 / 3)
print("slope along a direction:", float((moved(step) - moved(-step)).detach()) / (2 * step))
print("backward gives:         ", float(torch.autograd.grad(moved(0.0), at)[0]))""".split("\n")


def _torch_facts(failure: Failure) -> list[str]:
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
print("forward:", [(item.dtype, tuple(item.shape)) for item in outputs])
found = torch.autograd.grad([item for _, item in open_], leaves, seeds, allow_unused=True, retain_graph=True)
print("backward:", [None if item is None else item.flatten()[:6] for item in found])
print("inputs unchanged:", all(torch.equal(values[name], item) for name, item in before.items()))
print("incoming gradients unchanged:", all(map(torch.equal, seeds, kept)))""".split("\n")


# --- JAX
def _jax_settings(failure: Failure) -> list[str]:
    """Return the lines that set JAX up as it was: 64 bits, the device."""
    lines = []
    if any(item.dtype.name == "float64" for item in failure.case.arrays):
        lines.append('jax.config.update("jax_enable_x64", True)')
    kind, _, number = str(failure.facts.get("device", "")).partition(":")
    if kind:
        lines.append(f'jax.config.update("jax_default_device", jax.devices({kind!r})[{int(number or 0)}])')
    return lines


def _jax_part(which: str, part: str) -> list[str]:
    return f"""\
found, tree = jax.tree_util.tree_flatten_with_path(values[{which!r}])
leaves = [leaf for _, leaf in found]
number = [jax.tree_util.keystr(path) for path, _ in found].index({part!r})
x = leaves[number]""".split("\n")


def _jax_direction(which: str, part: str) -> list[str]:
    lines = f"""\
along, step = signed(x.shape, 0).astype(x.dtype), np.finfo(x.dtype).eps ** (1 / 3)


def moved(by):
    leaves[number] = x + by * along
    found = results({{**values, {which!r}: jax.tree.unflatten(tree, leaves)}})
    return sum((item * signed(item.shape, 1)).sum() for item in found if item.dtype.kind == "f")


print("slope along a direction:", float(moved(step) - moved(-step)) / (2 * step))
print("the rule gives:         ", float(jax.grad(moved)(0.0)))""".split("\n")
    return [*_jax_part(which, part), *lines]


def _jax_slopes(which: str, part: str) -> list[str]:
    lines = f"""\
step = 1e-6 * max(1.0, abs(float(x[at])))


def moved(by):
    leaves[number] = x.at[at].add(by)
    return results({{**values, {which!r}: jax.tree.unflatten(tree, leaves)}})[place][out]


print("slope from the left: ", float(moved(0) - moved(-step)) / step)
print("slope from the right:", float(moved(step) - moved(0)) / step)
print("the rule gives:      ", float(jax.grad(moved)(0.0)))""".split("\n")
    return [*_jax_part(which, part), *lines]


_JAX_FACTS = """\
leaves, tree = jax.tree.flatten(values)
opened = [place for place, leaf in enumerate(leaves) if getattr(leaf, 'dtype', np.dtype(int)).kind == 'f']


def of_opened(*chosen):
    whole = dict(enumerate(leaves)) | dict(zip(opened, chosen))
    return results(jax.tree.unflatten(tree, list(whole.values())))


outputs, pullback = jax.vjp(of_opened, *(leaves[place] for place in opened))
print("forward:", [(item.dtype, item.shape) for item in results(values)])
print("under differentiation:", [item.ravel()[:6] for item in outputs])
ones = [jax.numpy.ones_like(item) for item in outputs]
paths = [jax.tree_util.keystr(path) for path, _ in jax.tree_util.tree_flatten_with_path(values)[0]]
print("gradients:", {paths[place]: item.ravel()[:6] for place, item in zip(opened, pullback(ones))})
"""
_TORCH = _Framework(
    "torch", "torch", _TORCH_CALL, lambda _: [], _torch_leaf, _torch_slopes, _torch_direction, _torch_facts
)
_JAX = _Framework(
    "JAX",
    "jax",
    _JAX_CALL,
    _jax_settings,
    lambda text, *_: f"jax.numpy.asarray({text})",
    _jax_slopes,
    _jax_direction,
    lambda _: _JAX_FACTS.splitlines(),
)
_FRAMEWORKS = (_TORCH, _JAX)
