"""Written cases: the inputs that a search found, as the text of a cases function that a person can correct.

The target is loaded in a fresh interpreter; what is written where is decided here, printed by the command line.
"""

from __future__ import annotations

import ast
import math
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np

from opkit.atomic import write_file
from opkit.checker import Case, Checkable, answer_of
from opkit.checker.collect import collect
from opkit.checker.model.evaluate import leaves_of
from opkit.checker.model.trial import Trial
from opkit.checker.search.kinds import kind_of
from opkit.errors import UsageError
from opkit.verify.isolation.child import FreshCall, Outbox, Task
from opkit.verify.isolation.supervisor import Supervisor
from opkit.verify.options import RunOptions
from opkit.verify.subjects.functions import is_plain_option
from opkit.verify.targets.load import load
from opkit.verify.targets.target import Target, resolve

#: How many cases are written of an op, and of how many elements at most: a person is to read them.
_MOST, _ELEMENTS = 12, 256
_SECONDS = 60.0
#: By how much the numbers of every second case are larger than those that a search begins with, which reach 2.
_WIDER = 4.0
#: Digits of a number that is read well, of one without what multiplying left at its end, and of any.
_FEW, _NEARLY_ALL, _ALL = 4, 12, 17


def write_cases(words: Sequence[str], options: RunOptions, replaces: bool) -> Iterator[tuple[str, str, str]]:
    """Write the cases of what the words name.

    Yields:
        file, text written and the target that reads it; of an op that has cases, its name and "" twice.

    Raises:
        UsageError: a file or function of cases is there and is not to be replaced.
    """
    for target in resolve(words):
        call = FreshCall(__name__, (target, options, replaces))
        task = Task(0, call, options.timeout or _SECONDS, is_loud=options.shows_output)
        for _, message in Supervisor(1).run([task]):
            if isinstance(message, tuple):
                yield _put(target, message[0], message[1], replaces) if message[1] else (*message, "")


def run(target: Target, options: RunOptions, replaces: bool, outbox: Outbox) -> None:
    """Load a target and send (name, text) of each of its ops; in a fresh interpreter."""
    ops = load(target, options, outbox.flight).made().checkables
    wanted = [item for item in ops if item.cases is None or replaces]
    for item in ops:
        if item not in wanted:
            outbox.send((item.name, ""))
    if target.directory is not None:
        lines = [line for item in wanted for line in _lines(item, options, item.name if len(ops) > 1 else "")]
        if lines:
            outbox.send(("", _function("cases", target.label, lines)))
        return
    for item in wanted:
        name = item.name.rpartition("::")[2].partition("#")[0]
        if lines := _lines(item, options, ""):
            outbox.send((name, _function(f"cases_{name.rpartition('.')[2]}", name, lines, _mark())))


def _put(target: Target, name: str, text: str, replaces: bool) -> tuple[str, str, str]:
    """Write a function of cases: to a directory's cases file, to the function's own file, or to a check file."""
    file, short, reader = Path(target.path), name.rpartition(".")[2], target.label
    before = ""
    if target.directory is not None:
        file = file / f"{file.name}_cases.py"
    elif target.module:
        file = Path(f"check_{short}.py")
        reader = f"{file}::{name}"
        before = f"from {target.module} import {name.partition('.')[0]}\n"
    else:
        before = _without(file, f"cases_{short}", replaces)
    if (target.directory is not None or target.module) and file.exists() and not replaces:
        raise UsageError(f"{file} exists", help="--force replaces it")
    whole = f"{before.rstrip()}\n\n\n{text}" if before else text
    write_file(file, whole.encode())
    return str(file), text, reader


def _without(file: Path, name: str, replaces: bool) -> str:
    """Return the text of a file without a function."""
    text = file.read_text(encoding="utf-8")
    lines = text.splitlines(keepends=True)
    for node in reversed(ast.parse(text).body):
        if isinstance(node, ast.FunctionDef) and node.name == name:
            if not replaces:
                raise UsageError(f"{file} has {name}", help="--force replaces it")
            del lines[node.lineno - 1 : node.end_lineno]
    return "".join(lines)


def _function(name: str, of: str, lines: Sequence[str], marked: str = "") -> str:
    marks = f"\n\n    An array of floats takes a gradient, {marked}(array) takes none.\n    " if marked else ""
    text = f'    """Inputs that opkit found {of} to take: correct them to those that it is meant for.{marks}"""\n'
    needs = [f"    {line}\n" for word, line in _IMPORTS.items() if any(f"{word}(" in item for item in lines)]
    return f"def {name}(rng):\n{text}{''.join(needs)}{''.join(f'    yield {line}{chr(10)}' for line in lines)}"


_IMPORTS = {
    "np.array": "import numpy as np\n",
    "torch.tensor": "import torch\n",
    "paddle.to_tensor": "import paddle\n",
}


# --- the cases of one op
def _lines(checkable: Checkable, options: RunOptions, op: str) -> list[str]:
    """Return one case of each kind and setting of the options that were found, as Python text."""
    found = replace(checkable, cases=None)
    trial = Trial(found)
    with np.errstate(all="ignore"):
        cases = [case for case in collect(found, options.check, trial).cases if _is_readable(case)]
        kinds: dict[Any, Case] = {}
        settings: dict[str, Case] = {}
        for case in sorted(cases, key=partial(_rank, checkable)):
            kinds.setdefault((kind_of(case), repr(case.attrs)), case)
            settings.setdefault(repr(case.attrs), case)
        first = list(map(id, settings.values()))[:: len(settings) // (_MOST // 2) + 1]
        every = sorted(kinds.values(), key=lambda case: id(case) not in first)
        kept = [case for case in every if not _is_thin(case)][:_MOST] or every[:_MOST]
        chosen = sorted(kept, key=_sizes, reverse=True)
        spans = _spans(chosen)
        # Every second case has larger numbers: what breaks at 3 is found again.
        wide = {name: span * _WIDER if _is_any(span) else span for name, span in spans.items()}
        lines = (_line(found, case, op, trial, spans, one) for case, one in zip(chosen, cycle((None, wide))))
        return [line for line in lines if line]


def _is_thin(case: Case) -> bool:
    """Return whether the largest array has an axis of size 1, which is seldom meant: it takes part in no broadcast."""
    return 1 in max(case.arrays, key=np.size).shape or max(case.sizes) < 2


def _is_any(span: np.ndarray) -> bool:
    """Return whether an input holds floats of either sign."""
    return span.dtype.kind == "f" and span.min() < 0 < span.max() and not (span == np.round(span)).all()


def _spans(cases: Iterable[Case]) -> dict[str, np.ndarray]:
    """Return all values that each input has in some cases."""
    spans: dict[str, np.ndarray] = {}
    for leaf, array in (item for case in cases for item in leaves_of(case.inputs)):
        spans[leaf.name] = np.append(spans.get(leaf.name, ()), array)
    return spans


def _rank(checkable: Checkable, case: Case) -> tuple[bool, bool]:
    """Return how late a case comes: JAX has no mark for floats that take no gradient, so that truth values go first."""
    is_open = "jax" in sys.modules and bool(_constants(checkable, case))
    return is_open, case.regime not in ("normal", "recorded", "given")


def _sizes(case: Case) -> tuple[bool, int]:
    """Return how early a case comes: sizes of 1 may not be meant, and sizes that differ tell more than others."""
    sizes = {size for _, array in leaves_of(case.inputs) for size in array.shape}
    return 1 not in sizes, len(sizes)


def _constants(checkable: Checkable, case: Case) -> list[str]:
    """Return the inputs of a custom function that hold floats and take no gradient."""
    if checkable.directory is not None or checkable.gradients is None:
        return []
    floats = {leaf.name for leaf, array in leaves_of(case.inputs) if array.dtype.kind == "f"}
    return [name for name in case.inputs if name in floats and name not in checkable.gradients]


def _is_readable(case: Case) -> bool:
    arrays = [array for _, array in leaves_of(case.inputs)]
    sizes = [array.size for array in arrays]
    return bool(arrays) and all(sizes) and sum(sizes) <= _ELEMENTS and all(np.isfinite(item).all() for item in arrays)


def _line(
    checkable: Checkable,
    case: Case,
    op: str,
    trial: Trial,
    spans: Mapping[str, np.ndarray],
    wide: Mapping[str, np.ndarray] | None = None,
) -> str:
    """Return a case as text: drawn where forward and backward take that too, else rounded, or exact; "" for none."""
    defaults = {attr.name: attr.default for attr in checkable.attrs if not attr.is_required}
    options = {key: value for key, value in case.attrs.items() if value != defaults.get(key, case)}
    if any(not is_plain_option(value) for value in options.values()):
        return ""
    given = {name: value for name, value in case.inputs.items() if value is not None}
    larger = [] if wide is None else [(wide, _FEW)]
    for drawn, digits in (*larger, (spans, _FEW), (_spans([case]), _FEW), ({}, _FEW), ({}, _ALL)):
        texts = {name: _text(value, drawn.get(name), digits) for name, value in given.items()}
        again, *ends = (
            replace(case, inputs={**case.inputs, **{name: eval(text, space) for name, text in texts.items()}})
            for space in ({"rng": rng, "np": np} for rng in (np.random.default_rng(case.seed), _End(0), _End(-1)))
        )
        if digits == _ALL or all(trial.attempt(one).is_accepted for one in (again, *ends)):
            one, other = answer_of(checkable, again).standing, answer_of(checkable, case).standing
            if digits == _ALL or one is other or (drawn is wide and one.is_answered and other.is_answered):
                break
    for name in _constants(checkable, case) if _mark() else ():
        texts[name] = f"{_mark()}({texts[name]})"
    parts = [f'"op": {op!r}'] if op else []
    parts += [f'"{name}": {text}' for name, text in texts.items()]
    parts += [f'"{name}": {_shortened(value, _NEARLY_ALL)!r}' for name, value in options.items()]
    return "{" + ", ".join(parts) + "}"


class _End:
    """A generator of numbers of which one is the least, or the largest, that may be drawn: forward must take both."""

    def __init__(self, place: int) -> None:
        self._place, self._rng = place, np.random.default_rng(0)

    def integers(self, low: int, high: int, shape: tuple[int, ...]) -> np.ndarray:
        """Return whole numbers of [low, high)."""
        return self._ended(self._rng.integers(low, high, shape), (low, high - 1))

    def uniform(self, low: float, high: float, shape: tuple[int, ...]) -> np.ndarray:
        """Return floats between two numbers."""
        return self._ended(self._rng.uniform(low, high, shape), (low, high))

    def _ended(self, array: np.ndarray, ends: tuple[float, float]) -> np.ndarray:
        array.flat[self._place] = ends[self._place]
        return array

    def __getattr__(self, name: str) -> Any:
        return getattr(self._rng, name)


def _mark() -> str:
    """Return what makes of an array one that takes no gradient, "" where the framework has no mark."""
    return "torch.tensor" if "torch" in sys.modules else "" if "jax" in sys.modules else "paddle.to_tensor"


def _shortened(value: Any, digits: int) -> Any:
    """Return a number, or those that lists hold, with no more digits; anything else as it is."""
    if isinstance(value, (list, tuple)):
        return type(value)(_shortened(item, digits) for item in value)
    return float(f"{value:.{digits}g}") if isinstance(value, float) else value


def _text(value: Any, span: np.ndarray | None, digits: int = _ALL) -> str:
    """Return an array, or a list of some, as Python text that draws its like among values, or holds its elements."""
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(_text(item, span, digits) for item in value)}]"
    shape, kind, name = tuple(value.shape), value.dtype.kind, value.dtype.name
    if span is None or kind not in "biuf" or (kind != "b" and (span == span[0]).all()):
        return f'np.array({_shortened(value.tolist(), digits)!r}, "{name}")'
    if kind == "b":
        return f"rng.random({shape}) < 0.5"
    low, high = span.min().item(), span.max().item()
    cast = "" if name == ("float64" if kind == "f" else "int64") else f'.astype("{name}")'
    if (span == np.round(span)).all():
        drawn = f"rng.integers({int(low)}, {int(high) + 1}, {shape})"
        return f'{drawn}.astype("{name}")' if kind == "f" else f"{drawn}{cast}"
    if value.ndim and low > 0 and np.allclose(value.sum(-1), 1):
        return f"rng.dirichlet([1.0] * {shape[-1]}, {shape[:-1]}){cast}"
    low, high = (math.trunc(item * 100) / 100 or item for item in (low, high))
    return f"rng.uniform({low:g}, {high:g}, {shape}){cast}"
