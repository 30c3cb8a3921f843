"""Watching: which files belong to which target, checks of what changed, and the report in place.

What a check finds is not looked at here, but for the line that counts.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from subprocess import Popen

from opkit.checker import OpReport, Status
from opkit.cli.checking import options_of, put_report
from opkit.cli.configured import paths_of
from opkit.cli.console import error_line, hint, paint, put, warn
from opkit.configuration import read_configuration
from opkit.errors import UsageError
from opkit.verify.options import RunOptions
from opkit.verify.run import run_targets
from opkit.verify.targets.target import Target, TargetKind, resolve
from opkit.verify.workers.start import end, start

#: Milliseconds without a change that end a burst of changes, and the longest burst.
_QUIET, _LONGEST = 30, 400
#: Milliseconds after which a wait without changes is repeated.
_TIMEOUT = 200
_SUFFIXES = (".py", ".cpp", ".h", ".hpp", ".toml")
_CLEAR = "\x1b[2J\x1b[3J\x1b[H"


def watch_targets(words: Sequence[str], effort: float | None) -> None:
    """Check targets, and again those whose files change; ends with Ctrl-C alone.

    Raises:
        UsageError: a target does not exist, or watchfiles is not installed.
    """
    try:
        from watchfiles import watch
    except ModuleNotFoundError as error:
        if error.name != "watchfiles":
            raise
        raise UsageError("watch needs watchfiles, which is not installed", help="pip install 'opkit[watch]'") from None
    board = _Board(words, effort)
    with board.ready():
        targets = resolve(paths_of(words))
        is_first = True
        for changes in watch(
            *board.folders(),
            debounce=_LONGEST,
            step=_QUIET,
            watch_filter=_concerns,
            rust_timeout=_TIMEOUT,
            yield_on_timeout=True,
        ):
            if is_first:  # the folders are watched from here on: what changes during the first check is seen
                board.check(targets)
                is_first = False
            if changes:
                board.changed(Path(path) for _, path in changes)


def _concerns(_change: object, path: str) -> bool:
    place = Path(path)
    if any(part.startswith(".") or part == "__pycache__" for part in place.parts[1:]):
        return False
    return path.endswith(_SUFFIXES) or place.is_dir()  # of a folder that is moved here, its files are not named


class _Board:
    """What is watched, how each target stands, and an interpreter that is ready for the next check."""

    def __init__(self, words: Sequence[str], effort: float | None) -> None:
        self._words, self._effort = words, effort
        self._standing: dict[Target, Status] = {}
        self._interpreter: Popen[bytes] | None = None

    @contextlib.contextmanager
    def ready(self) -> Iterator[None]:
        """Keep an interpreter ready within the block."""
        try:
            yield
        finally:
            if self._interpreter is not None:
                end(self._interpreter)

    def folders(self) -> list[Path]:
        """Return the folders to watch: those that were named, and those of the files that were named."""
        named = [Path(word.rpartition("::")[0] or word) for word in paths_of(self._words)] or [Path()]
        return list(dict.fromkeys((path if path.is_dir() else path.parent).absolute() for path in named))

    def changed(self, paths: Iterable[Path]) -> None:
        """Check the targets that changed files belong to; what cannot be named any more is shown as an error."""
        files = list(paths)
        try:
            targets = resolve(paths_of(self._words))
            if any(path.name == "pyproject.toml" for path in files):
                self.check(targets)
                return
            self._standing = {target: status for target, status in self._standing.items() if target in targets}
            files = [path for path in files if path.suffix in _SUFFIXES]
            is_new = {target for target in targets if target not in self._standing}
            self.check([item for item in targets if item in is_new or any(_belongs(path, item) for path in files)])
        except UsageError as error:
            warn(error_line(error))

    def check(self, targets: Sequence[Target]) -> None:
        """Check targets and show what was found."""
        if not targets:
            if not self._standing:
                hint("nothing to check yet; waiting for an op directory")
            return
        begun = time.perf_counter()
        interpreter, self._interpreter = self._interpreter or start(), None
        words = [f"{target.path}::{target.name}" if target.name else target.path for target in targets]
        outcome = run_targets(words, self._options(), None, interpreter)
        seconds = time.perf_counter() - begun
        if outcome.is_interrupted:
            raise KeyboardInterrupt
        self._interpreter = start()  # on its way while the person reads
        if sys.stdout.isatty():
            sys.stdout.write(_CLEAR)
        put_report(outcome, "text")
        self._note(targets, outcome.report.ops)
        put(self._summary(seconds))
        sys.stdout.flush()

    def _options(self) -> RunOptions:
        given = {} if self._effort is None else {"effort": self._effort}
        return options_of(read_configuration(Path.cwd()).options(given=given), given)

    def _note(self, targets: Sequence[Target], reports: Iterable[OpReport]) -> None:
        by_place: dict[str, list[Status]] = {}
        for report in reports:
            place = report.dir or report.op.rpartition("::")[0]
            by_place.setdefault(str(Path(place).absolute()), []).append(report.status)
        for target in targets:
            found = by_place.get(target.path, [Status.SKIP])
            order = (Status.ERROR, Status.FAIL, Status.UNDECIDED, Status.PASS, Status.SKIP)
            self._standing[target] = min(found, key=order.index)

    def _summary(self, seconds: float) -> str:
        counts = Counter(self._standing.values())
        told = ", ".join(f"{counts[status]} {status.value}" for status in Status if counts[status])
        others = [target.label for target, status in self._standing.items() if status in (Status.FAIL, Status.ERROR)]
        text = paint(f"{told} of {len(self._standing)} watched", "error" if others else "good", sys.stdout)
        failing = f"; not clean: {', '.join(others)}" if others else ""
        return f"{text}{failing}\nchecked in {seconds:.2f} s at {time.strftime('%H:%M:%S')}; Ctrl-C ends"


def _belongs(path: Path, target: Target) -> bool:
    """Whether a change of a file may change what a check of a target finds."""
    place = Path(target.path)
    if target.kind is TargetKind.DIRECTORY:
        return place in path.parents
    return path.suffix == ".py" and place.parent in path.parents
