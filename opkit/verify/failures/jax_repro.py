"""Repro in JAX: what the script of a failure of a function with a rule of its own is made of, as text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opkit.verify.failures.store import Failure

NAME, MODULE = "JAX", "jax"
CALL = '''

def results(values):
    """Call the function with arguments by name and return the arrays that it gives."""
    return jax.tree.leaves(target(*arguments(target, values)))
'''


def settings(failure: Failure) -> list[str]:
    """Return the lines that set JAX up as it was: 64 bits, the device."""
    lines = []
    if any(item.dtype.name == "float64" for item in failure.case.arrays):
        lines.append('jax.config.update("jax_enable_x64", True)')
    kind, _, number = str(failure.facts.get("device", "")).partition(":")
    if kind:
        lines.append(f'jax.config.update("jax_default_device", jax.devices({kind!r})[{int(number or 0)}])')
    return lines


def leaf(text: str, value: Any, failure: Failure) -> str:
    """Return the array as text."""
    return f"jax.numpy.asarray({text})"


def _part_of(which: str, part: str) -> list[str]:
    return f"""\
found, tree = jax.tree_util.tree_flatten_with_path(values[{which!r}])
leaves = [leaf for _, leaf in found]
number = [jax.tree_util.keystr(path) for path, _ in found].index({part!r})
x = leaves[number]""".split("\n")


def direction(which: str, part: str) -> list[str]:
    """Return the lines that print slope and gradient along a direction."""
    lines = f"""\
along, step = signed(x.shape, 0).astype(x.dtype), np.finfo(x.dtype).eps ** (1 / 3)


def moved(by):
    leaves[number] = x + by * along
    found = results({{**values, {which!r}: jax.tree.unflatten(tree, leaves)}})
    return sum((item * signed(item.shape, 1)).sum() for item in found if item.dtype.kind == "f")


print("slope along a direction:", float(moved(step) - moved(-step)) / (2 * step))
print("the rule gives:         ", float(jax.grad(moved)(0.0)))""".split("\n")
    return [*_part_of(which, part), *lines]


def slopes(which: str, part: str) -> list[str]:
    """Return the lines that print slopes and gradient at an element of an input, or of a part of its tree."""
    lines = f"""\
step = 1e-6 * max(1.0, abs(float(x[at])))


def moved(by):
    leaves[number] = x.at[at].add(by)
    return results({{**values, {which!r}: jax.tree.unflatten(tree, leaves)}})[place][out]


print("slope from the left: ", float(moved(0) - moved(-step)) / step)
print("slope from the right:", float(moved(step) - moved(0)) / step)
print("the rule gives:      ", float(jax.grad(moved)(0.0)))""".split("\n")
    return [*_part_of(which, part), *lines]


def ties(which: str, part: str) -> list[str]:
    """Return the lines that move all that is equal to an element."""
    return f"""\
found, tree = jax.tree_util.tree_flatten_with_path(values)
leaves = [leaf for _, leaf in found]
x = leaves[[path[0].key + jax.tree_util.keystr(path[1:]) for path, _ in found].index({which + part!r})]
tied = [item == x[at] if item.dtype.kind == "f" else None for item in map(np.asarray, leaves)]


def moved(by):
    found = [item if same is None else jax.numpy.where(same, item + by, item) for item, same in zip(leaves, tied)]
    return results(jax.tree.unflatten(tree, found))[place][out]


step = 1e-6 * max(1.0, abs(float(x[at])))
print("moved together:", [None if same is None else np.argwhere(same).tolist() for same in tied])
print("slope:         ", float(moved(step) - moved(-step)) / (2 * step))
print("the rule gives:", float(jax.grad(moved)(0.0)))""".split("\n")


#: Each format of floats.
OWN: Mapping[str, str] = {
    "GC207": """\
def total(given):
    return sum(item.sum() for item in results(given) if item.dtype.kind in "fV")


def in_format(item, dtype):
    return item.astype("float16").astype(dtype) if getattr(item, "dtype", np.dtype(int)).kind == "f" else item


floats = {name: item for name, item in values.items() if getattr(item, "dtype", np.dtype(int)).kind == "f"}
for dtype in ("float32", "bfloat16", "float16"):
    some = {name: in_format(item, dtype) for name, item in floats.items()}
    try:
        print(dtype, "forward: ", [item.ravel()[:6] for item in results({**values, **some})])
        slopes = jax.grad(lambda given: total({**values, **given}))(some)
        print(dtype, "gradients:", {name: item.ravel()[:6] for name, item in slopes.items()})
    except Exception as error:
        print(dtype, type(error).__name__, error)""",
}


def facts(failure: Failure) -> list[str]:
    """Return the lines that show results and gradients."""
    return _FACTS.splitlines()


_FACTS = """\
leaves, tree = jax.tree.flatten(values)
opened = [place for place, leaf in enumerate(leaves) if getattr(leaf, 'dtype', np.dtype(int)).kind == 'f']


def of_opened(*chosen):
    whole = dict(enumerate(leaves)) | dict(zip(opened, chosen))
    return results(jax.tree.unflatten(tree, list(whole.values())))


outputs, pullback = jax.vjp(of_opened, *(leaves[place] for place in opened))
print("forward:", [(item.dtype, item.shape, item.ravel()[:6]) for item in results(values)])
print("under differentiation:", [item.ravel()[:6] for item in outputs])
ones = [jax.numpy.ones_like(item) for item in outputs]
paths = [jax.tree_util.keystr(path) for path, _ in jax.tree_util.tree_flatten_with_path(values)[0]]
print("gradients:", {paths[place]: item.ravel()[:6] for place, item in zip(opened, pullback(ones))})
"""
