"""Kept: what a test session's items found, for a test of the same session that asks the same.

Nothing is checked here. An outcome is given away once, and only where no file beside the target changed since, nor the
environment: a second check within one session is a check of its own.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from opkit.paths import StrPath
from opkit.verify.options import RunOptions
from opkit.verify.outcome import Outcome
from opkit.verify.targets.target import resolve

_KEPT: list[tuple[object, Outcome]] = []


def keep(words: Iterable[StrPath], options: RunOptions, outcome: Outcome) -> None:
    """Keep an outcome of a run of targets."""
    _KEPT.append((_question(words, options), outcome))


def kept(words: Iterable[StrPath], options: RunOptions) -> Outcome | None:
    """Return the outcome of the same question, and forget it; None where there is none."""
    asked = _question(words, options) if _KEPT else None
    place = next((place for place, (question, _) in enumerate(_KEPT) if question == asked), None)
    return None if place is None else _KEPT.pop(place)[1]


def _question(words: Iterable[StrPath], options: RunOptions) -> object:
    """Return targets and options, the files beside them and their times, the folder and the environment."""
    targets = resolve(words)
    folders = {os.path.dirname(target.path) for target in targets}
    beside = [file for folder in folders for file in os.scandir(folder) if file.is_file()]
    files = sorted((file.path, file.stat().st_mtime_ns) for file in beside)
    # pytest names the test that runs in a variable of the environment.
    return targets, options, files, os.getcwd(), {**os.environ, "PYTEST_CURRENT_TEST": ""}
