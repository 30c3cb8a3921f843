"""The lines of a script that repeats a failure of a custom function of JAX; it needs JAX and numpy only.

The user's file is run as it is; nothing of opkit takes part.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opkit.verify.failures.store import Failure
from opkit.verify.failures.torch_repro import is_plain, stored
from opkit.verify.failures.trees import trees
from opkit.verify.options import RunOptions
from opkit.verify.targets.imports import imported_roots

_CALL = '''

def results(values):
    """Call the function with arguments by name and return the arrays that it gives."""
    args = []
    for item in inspect.signature(target).parameters.values():
        if item.name in values:
            args += values[item.name] if item.kind is item.VAR_POSITIONAL else [values[item.name]]
    return jax.tree.leaves(target(*args))
'''


def jax_lines(failure: Failure, options: RunOptions) -> list[str] | None:
    """Return the script's lines, None where the op is none of JAX's, or its arguments cannot be written down."""
    file, _, name = str(failure.facts.get("op", "")).rpartition("::")
    root = str(failure.facts.get("root") or file)
    if not file or "#" in name or "jax" not in imported_roots(root) or failure.code == "GC171":
        return None
    attrs = dict(failure.case.attrs)
    texts = trees(failure, options) if any(isinstance(item, list) for item in failure.case.inputs.values()) else {}
    if texts is None or not all(is_plain(value) for value in attrs.values()):
        return None
    lines = ["import inspect", "import runpy", "", "import jax", "import numpy as np", ""]
    lines += [*_settings(failure), f"names = runpy.run_path({root!r})", f"target = names[{name!r}]"]
    lines += ['data = np.load(__file__[:-3] + ".npz")', *_CALL.splitlines(), "", "", f"values = {attrs!r}"]
    return [*lines, *_values(failure, texts), *_run(failure), "print(__doc__)"]


def _settings(failure: Failure) -> list[str]:
    """Return the lines that set JAX up as it was: 64 bits, the device."""
    arrays = [
        item for value in failure.case.inputs.values() for item in (value if isinstance(value, list) else [value])
    ]
    lines = []
    if any(item is not None and item.dtype.name == "float64" for item in arrays):
        lines.append('jax.config.update("jax_enable_x64", True)')
    kind, _, number = str(failure.facts.get("device", "")).partition(":")
    if kind:
        lines.append(f'jax.config.update("jax_default_device", jax.devices({kind!r})[{int(number or 0)}])')
    return lines


def _values(failure: Failure, texts: Mapping[str, str]) -> list[str]:
    lines = []
    for name, value in failure.case.inputs.items():
        if isinstance(value, list):
            items = ", ".join(_leaf(name, index) for index in range(len(value)))
            lines += [f"leaf = [{items}]", f"values[{name!r}] = {texts.get(name, 'leaf')}"]
        elif value is not None:
            lines.append(f"values[{name!r}] = {_leaf(name, 0)}")
    return lines


def _leaf(name: str, index: int) -> str:
    return f"jax.numpy.asarray({stored(name, index)})"


def _run(failure: Failure) -> list[str]:
    which, _, rest = failure.key[1].partition("[")
    element, output = failure.facts.get("element"), failure.facts.get("output_element")
    place = int(failure.key[2][1:]) if failure.key[2][1:].isdigit() else 0
    value: Any = failure.case.inputs.get(which)
    if element is None or output is None or (isinstance(value, list) and not rest):
        return _facts()
    number = int(rest.rstrip("]")) if rest else 0
    return [
        f"at, out, place = {tuple(element)!r}, {tuple(output)!r}, {place}",
        f"leaves, tree = jax.tree.flatten(values[{which!r}])",
        f"x = leaves[{number}]",
        "step = 1e-6 * max(1.0, abs(float(x[at])))",
        "",
        "",
        "def moved(by):",
        f"    leaves[{number}] = x.at[at].add(by)",
        f"    return results({{**values, {which!r}: jax.tree.unflatten(tree, leaves)}})[place][out]",
        "",
        "",
        'print("slope from the left: ", float(moved(0) - moved(-step)) / step)',
        'print("slope from the right:", float(moved(step) - moved(0)) / step)',
        'print("the rule gives:      ", float(jax.grad(moved)(0.0)))',
    ]


def _facts() -> list[str]:
    return [
        "leaves, tree = jax.tree.flatten(values)",
        "opened = [place for place, leaf in enumerate(leaves) if getattr(leaf, 'dtype', np.dtype(int)).kind == 'f']",
        "",
        "",
        "def of_opened(*chosen):",
        "    whole = dict(enumerate(leaves)) | dict(zip(opened, chosen))",
        "    return results(jax.tree.unflatten(tree, list(whole.values())))",
        "",
        "",
        "outputs, pullback = jax.vjp(of_opened, *(leaves[place] for place in opened))",
        'print("forward:", [(item.dtype, item.shape) for item in results(values)])',
        'print("under differentiation:", [item.ravel()[:6] for item in outputs])',
        "ones = [jax.numpy.ones_like(item) for item in outputs]",
        "paths = [jax.tree_util.keystr(path) for path, _ in jax.tree_util.tree_flatten_with_path(values)[0]]",
        'print("gradients:", {paths[place]: item.ravel()[:6] for place, item in zip(opened, pullback(ones))})',
    ]
