"""The lines of a script that repeats a failure of a custom function of torch or JAX; it needs them and numpy only.

The user's file is run as it is; nothing of opkit takes part.

Trees: how the arrays of an input stand in the tree that a function takes, as Python text for a script.

A fresh interpreter loads the target once more and says so; the arrays are those of the failure.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from opkit.checker.model.evaluate import input_of
from opkit.verify.failures import jax_repro, torch_repro
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


def framework_lines(failure: Failure, options: RunOptions) -> tuple[str, list[str]] | None:
    """Return what the script needs, and its lines.

    None where the op is none of a framework's, or its options or arguments cannot be written down.
    """
    file, _, name = str(failure.facts.get("op", "")).rpartition("::")
    root = str(failure.facts.get("root") or file)
    attrs, inputs = dict(failure.case.attrs), failure.case.inputs
    if not file or "#" in name or failure.code == "GC171" or not all(map(is_plain_option, attrs.values())):
        return None
    kind = next((item for item in _FRAMEWORKS if item.MODULE in imported_roots(root)), None)
    has_lists = any(isinstance(value, (list, tuple)) for value in inputs.values())
    texts = trees(failure, options) if kind == jax_repro and has_lists else {}
    if kind is None or texts is None:
        return None
    first, *rest = name.split(".")
    lines = ["import inspect", "import runpy", "", f"import {kind.MODULE}", "import numpy as np", ""]
    lines += [*kind.settings(failure), f"names = runpy.run_path({root!r})"]
    lines += [f"target = {'.'.join([f'names[{first!r}]', *rest])}", 'data = np.load(__file__[:-3] + ".npz")']
    lines += [*_ARGUMENTS.splitlines(), *kind.CALL.splitlines(), "", "", f"values = {attrs!r}"]
    for key, value in inputs.items():
        if isinstance(value, (list, tuple)):
            leaves = ", ".join(kind.leaf(_stored(key, index), item, failure) for index, item in enumerate(value))
            lines += [f"leaf = [{leaves}]", f"values[{key!r}] = {texts.get((key, len(value)), 'leaf')}"]
        elif value is not None:
            lines.append(f"values[{key!r}] = {kind.leaf(_stored(key, 0), value, failure)}")
    return f"{kind.NAME} and numpy", [*lines, *_shown(failure, kind), "print(__doc__)"]


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
    is_single = not is_list or bool(part and kind == jax_repro)
    if failure.code in kind.OWN:
        return kind.OWN[failure.code].splitlines()
    if failure.code == "GC102" and is_single:
        return [*_SIGNED.splitlines(), *kind.direction(which, part)]
    if element is None or output is None or not is_single:
        return kind.facts(failure)
    at = f"at, out, place = {tuple(element)!r}, {tuple(output)!r}, {place}"
    return [at, *(kind.ties if failure.code == "GC106" else kind.slopes)(which, part)]


_SIGNED = """

def signed(shape, seed):
    \"\"\"Return numbers of both signs, none near 0, the same at every call.\"\"\"
    rng = np.random.default_rng(seed)
    return rng.uniform(0.5, 1.5, shape) * rng.choice([-1.0, 1.0], shape)

"""


class _Framework(Protocol):
    """What differs between frameworks: a module each."""

    #: As people write it; which files import; lines that define ``results(values)``.
    NAME: str
    MODULE: str
    CALL: str
    #: {code: lines} of what is shown otherwise.
    OWN: Mapping[str, str]

    def settings(self, failure: Failure, /) -> list[str]:
        """Return the lines before the user's file is run."""

    def leaf(self, text: str, value: Any, failure: Failure, /) -> str:
        """Return the text of an array: of its text in the data, its value, and the failure."""

    def slopes(self, which: str, part: str, /) -> list[str]:
        """Return the lines that print slopes and gradient at an element of an input, and of a part of its tree."""

    def ties(self, which: str, part: str, /) -> list[str]:
        """Return those that move all that is equal to an element."""

    def direction(self, which: str, part: str, /) -> list[str]:
        """Return those along a direction, with ``signed(shape, seed)`` for it and the results."""

    def facts(self, failure: Failure, /) -> list[str]:
        """Return the lines that show results and gradients."""


_FRAMEWORKS: tuple[_Framework, ...] = (torch_repro, jax_repro)
