"""The lines of a script that repeats a failure of a custom function of JAX; it needs JAX and numpy only.

The user's file is run as it is; nothing of opkit takes part.
"""

from __future__ import annotations

from opkit.verify.failures.store import Failure
from opkit.verify.failures.torch_repro import is_plain, stored
from opkit.verify.targets.imports import imported_roots

__all__ = ["jax_lines"]

_CALL = '''

def results(values):
    """Call the function with arguments by name and return the arrays that it gives."""
    args = []
    for item in inspect.signature(target).parameters.values():
        if item.name in values:
            args += values[item.name] if item.kind is item.VAR_POSITIONAL else [values[item.name]]
    return jax.tree.leaves(target(*args))
'''


def jax_lines(failure: Failure) -> list[str] | None:
    """Return the script's lines, None where the op is none of JAX's, or its arguments cannot be written down."""
    file, _, name = str(failure.facts.get("op", "")).rpartition("::")
    root = str(failure.facts.get("root") or file)
    if not file or "#" in name or "jax" not in imported_roots(root) or failure.code == "GC171":
        return None
    inputs, attrs = failure.case.inputs, dict(failure.case.attrs)
    if not all(is_plain(value) for value in attrs.values()) or any(isinstance(item, list) for item in inputs.values()):
        return None
    is_wide = any(item is not None and item.dtype.name == "float64" for item in inputs.values())
    lines = ["import inspect", "import runpy", "", "import jax", "import numpy as np", ""]
    lines += ['jax.config.update("jax_enable_x64", True)'] if is_wide else []
    lines += [f"target = runpy.run_path({root!r})[{name!r}]", 'data = np.load(__file__[:-3] + ".npz")']
    lines += [*_CALL.splitlines(), "", "", f"values = {attrs!r}"]
    lines += [
        f"values[{name!r}] = jax.numpy.asarray({stored(name, 0)})" for name, item in inputs.items() if item is not None
    ]
    return [*lines, *_run(failure), "print(__doc__)"]


def _run(failure: Failure) -> list[str]:
    which = failure.key[1].partition("[")[0]
    element, output = failure.facts.get("element"), failure.facts.get("output_element")
    place = int(failure.key[2][1:]) if failure.key[2][1:].isdigit() else 0
    if element is None or output is None:
        return _facts()
    return [
        f"at, out, place = {tuple(element)!r}, {tuple(output)!r}, {place}",
        f"x = values[{which!r}]",
        "step = 1e-6 * max(1.0, abs(float(x[at])))",
        "",
        "",
        "def moved(by):",
        f"    return results({{**values, {which!r}: x.at[at].add(by)}})[place][out]",
        "",
        "",
        'print("slope from the left: ", float(moved(0) - moved(-step)) / step)',
        'print("slope from the right:", float(moved(step) - moved(0)) / step)',
        'print("the rule gives:      ", float(jax.grad(moved)(0.0)))',
    ]


def _facts() -> list[str]:
    return [
        "arrays = {name: item for name, item in values.items() if isinstance(item, jax.Array)}",
        "opened = {name: item for name, item in arrays.items() if item.dtype.kind == 'f'}",
        "outputs, pullback = jax.vjp(lambda chosen: results({**values, **chosen}), opened)",
        'print("forward:", [(item.dtype, item.shape) for item in results(values)])',
        'print("under differentiation:", [item.ravel()[:6] for item in outputs])',
        "ones = [jax.numpy.ones_like(item) for item in outputs]",
        'print("gradients:", {name: item.ravel()[:6] for name, item in pullback(ones)[0].items()})',
    ]
