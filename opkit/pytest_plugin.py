"""The pytest plugin behind ``opkit test``: every op directory is collected as a build and a gradcheck item.

Where its definition claims sharding signatures there is an sbp item too. A file ``check_NAME.py``, or any other that is
named on the command line, has a gradcheck item for each PyLayer, torch Function or library op and JAX rule in it; one
for the file where it only imports them, and has cases.

Plain pytest takes it with ``-p opkit.pytest_plugin``. While it is active, ``import oneflow`` and ``import paddle`` in
tests get opkit's packages.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from subprocess import Popen
from typing import Any

import pytest
from _pytest._code.code import ReprFileLocation, TerminalRepr

from opkit.checker import Status
from opkit.configuration import Configuration, read_configuration
from opkit.diagnostics import Diagnostic, render_text
from opkit.errors import UsageError
from opkit.project import OpDirectory, build, op_directory_of
from opkit.project.file_names import exported_of, has_cases, names_of
from opkit.reporters import text_report
from opkit.shim import install_frameworks
from opkit.verify.isolation.supervisor import can_fork
from opkit.verify.kept import keep
from opkit.verify.options import RunOptions
from opkit.verify.outcome import Outcome
from opkit.verify.run import run_targets
from opkit.verify.trial import tried
from opkit.verify.workers.start import end, start

_SPEC = "_cpp_def.cpp"
#: What a definition that claims signatures calls.
_CLAIMS = "SetGetSbpFn"
#: What [tool.opkit] says where pytest was started.
_CONFIGURATION = pytest.StashKey[Configuration]()
#: The property of a test whose op is undecided.
_UNDECIDED = ("opkit", "undecided")


class OpTestError(Exception):
    """An op directory does not build, or a check failed.

    Args:
        text: what pytest shows.
        cause: one line, for the summary.
    """

    def __init__(self, text: str, cause: str) -> None:
        super().__init__(text)
        self.text, self.cause = text, cause


class _Findings(TerminalRepr):
    """Findings as pytest shows them: as they are, and their cause in the summary."""

    def __init__(self, error: OpTestError, path: Path) -> None:
        self._text = error.text
        self.reprcrash = ReprFileLocation(str(path), 1, error.cause)

    def __str__(self) -> str:
        return self._text

    def toterminal(self, tw: Any) -> None:
        """Write the findings."""
        tw.line(self._text)


class OpItem(pytest.Item):
    """A test of one op directory, or of one name in a file."""

    directory: OpDirectory
    action: Callable[[OpItem], None]
    interpreter: Popen[bytes] | None = None

    @property
    def target(self) -> str:
        """What ``opkit gradcheck`` takes for it."""
        return str(self.directory.path)

    def runtest(self) -> None:
        """Build or check the directory."""
        self.action(self)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Show an op's findings as they are, any other error with its traceback."""
        if isinstance(excinfo.value, OpTestError):
            return _Findings(excinfo.value, self.reportinfo()[0])
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Say where the item stands."""
        return self.directory.spec, 0, f"{self.directory.name}: {self.name}"


class OpFile(pytest.File):
    """The definition file of an op directory."""

    def collect(self) -> Iterator[pytest.Item]:
        """Yield the items ``build`` and ``gradcheck``, and ``sbp`` where the definition claims signatures."""
        actions = [("build", _build), ("gradcheck", _gradcheck)]
        if _CLAIMS in self.path.read_text(encoding="utf-8", errors="replace"):
            actions.append(("sbp", _sbp))
        for name, action in actions:
            item: OpItem = OpItem.from_parent(self, name=name)
            item.directory = op_directory_of(self.path.parent)
            item.action = action
            yield item


class NameItem(OpItem):
    """A gradient check of one name in a file."""

    @property
    def target(self) -> str:
        """``FILE.py::Name``."""
        return f"{self.path}::{self.name}"

    def reportinfo(self) -> tuple[Path, int, str]:
        """Say where the item stands."""
        return self.path, 0, f"{self.path.name}::{self.name}"


class FileItem(NameItem):
    """A gradient check of all that a check file has cases for."""

    @property
    def target(self) -> str:
        """The file."""
        return str(self.path)


class CheckFile(pytest.File):
    """A file with names to check: those of its ``__all__`` but for functions of cases, or those that it defines.

    Where cases alone stand there, what they are for is known once the file is run.
    """

    def collect(self) -> Iterator[pytest.Item]:
        """Yield an item for each; the file is read, not run."""
        names = exported_of(self.path) or list(names_of(self.path))
        kind = NameItem if names else FileItem
        for name in names or ["gradcheck"] * has_cases(self.path):
            item: NameItem = kind.from_parent(self, name=name)
            item.action = _gradcheck
            yield item


class OpkitPlugin:
    """The plugin as an object, for callers that want to know what happened.

    Args:
        paths: what to collect where neither arguments nor pytest's own settings name anything.

    Attributes:
        has_broken_builds: whether a directory did not build.
    """

    #: What pytest registers it as: settings that name the module too add nothing.
    __name__ = __name__

    def __init__(self, paths: Sequence[str] = ()) -> None:
        self._paths = paths
        self.has_broken_builds = False

    def pytest_configure(self, config: pytest.Config) -> None:
        """Read [tool.opkit], and serve the frameworks' import names until the session ends."""
        try:
            config.stash[_CONFIGURATION] = read_configuration(config.invocation_params.dir)
        except UsageError as error:
            raise pytest.UsageError(str(error)) from error
        if self._paths and config.args_source is pytest.Config.ArgsSource.INVOCATION_DIR:
            config.args = list(self._paths)
        config.add_cleanup(install_frameworks())

    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
        """Collect definition files and files of checks."""
        if file_path.name.endswith(_SPEC):
            collected: OpFile = OpFile.from_parent(parent, path=file_path)
            return collected
        is_named = file_path.suffix == ".py" and parent.session.isinitpath(file_path) and not _is_test(file_path)
        if is_named or (file_path.suffix == ".py" and file_path.name.startswith("check_")):
            checks: CheckFile = CheckFile.from_parent(parent, path=file_path)
            return checks
        return None

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Put the checks of check_NAME.py right before the tests of test_NAME.py, which may ask the same."""
        first = {item.path: place for place, item in reversed(list(enumerate(items)))}
        key = {item: (place, 1) for place, item in enumerate(items)}
        for item in items:
            if isinstance(item, NameItem):
                tests = item.path.with_name(f"test_{item.path.name.removeprefix('check_')}")
                key[item] = (first.get(tests, key[item][0]), 0)
        items.sort(key=key.__getitem__)

    def pytest_runtest_protocol(self, nextitem: pytest.Item | None) -> None:
        """Start the interpreter that the next check is made in: it loads while this item runs."""
        if isinstance(nextitem, OpItem) and nextitem.action is not _build and can_fork():
            nextitem.interpreter = start([nextitem.target])
            nextitem.config.add_cleanup(partial(end, nextitem.interpreter))

    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, Any] | None:
        """Show an op whose derivatives could not be decided as an outcome of its own, neither passed nor failed."""
        if report.when == "call" and report.passed and _UNDECIDED in report.user_properties:
            return "undecided", "u", ("UNDECIDED", {"yellow": True})
        return None

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note builds that failed."""
        if report.failed and report.nodeid.endswith(f"{_SPEC}::build"):
            self.has_broken_builds = True


_plugin = OpkitPlugin()
pytest_configure = _plugin.pytest_configure
pytest_collect_file = _plugin.pytest_collect_file
pytest_collection_modifyitems = _plugin.pytest_collection_modifyitems
pytest_runtest_protocol = _plugin.pytest_runtest_protocol
pytest_report_teststatus = _plugin.pytest_report_teststatus


def _is_test(path: Path) -> bool:
    return path.name.startswith("test_") or path.name.endswith("_test.py") or path.name == "conftest.py"


def _build(item: OpItem) -> None:
    alike = [
        other.directory
        for other in item.session.items
        if isinstance(other, OpItem) and other.action is _build and other.directory.name == item.directory.name
    ]
    result = build(alike, facts=tried(alike))
    if result.has_errors:
        raise OpTestError(render_text(result.diagnostics), _first_error(result.diagnostics))


def _gradcheck(item: OpItem) -> None:
    is_shown = item.config.getoption("capture") == "no"  # pytest's -s
    options = _options(item, "GC", shows_output=is_shown)
    outcome = run_targets([item.target], options, interpreter=item.interpreter)
    if isinstance(item, NameItem):
        keep([item.target], options, outcome)
    _judge(item, outcome)


def _sbp(item: OpItem) -> None:
    _judge(
        item,
        run_targets([item.target], _options(item, "SBP", command="sbp", replay=False), interpreter=item.interpreter),
    )


def _options(item: OpItem, family: str, **others: Any) -> RunOptions:
    return RunOptions.of({**item.config.stash[_CONFIGURATION].options(family), **others})


def _judge(item: OpItem, outcome: Outcome) -> None:
    """Fail where a run found something; say where it could not decide or had nothing to; end where it was ended."""
    if outcome.is_interrupted:
        raise KeyboardInterrupt
    ops = outcome.report.ops
    if not outcome.is_broken and all(op.status is Status.SKIP for op in ops):
        reasons = [check.message for op in ops for check in op.checks if check.status is Status.SKIP and check.message]
        pytest.skip("; ".join(dict.fromkeys(reasons)) or "there is nothing that could be decided")
    if outcome.report.status is Status.UNDECIDED:
        item.user_properties.append(_UNDECIDED)
    if outcome.exit_status(item.config.stash[_CONFIGURATION].value("strict")) != 0:
        width = max(40, min(shutil.get_terminal_size((100, 24)).columns, 140))
        raise OpTestError(text_report(outcome, width=width), _cause(outcome))


def _cause(outcome: Outcome) -> str:
    """Return what was found first, in one line."""
    found = [result for op in outcome.report.ops for result in op.findings if result.check != "build"]
    if outcome.diagnostics and (error := _first_error(outcome.diagnostics)):
        return error
    return f"{found[0].code}: {' '.join(found[0].message.split())}" if found else outcome.report.status.value


def _first_error(diagnostics: Iterable[Diagnostic]) -> str:
    return next((f"{item.code}: {item.message}" for item in diagnostics if item.is_error), "")
