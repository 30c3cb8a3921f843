"""``opkit test``: pytest with opkit's plugin."""

from __future__ import annotations

from typing import Annotated

import typer


def test(
    paths: Annotated[
        list[str] | None,
        typer.Argument(metavar="PATH", help="Op directories, folders, test files.", show_default=False),
    ] = None,
) -> None:
    """Run pytest on op directories: each is built and gradient-checked, its claims are proved, its own test files run.

    Example: `opkit test my_op -- -q`.

    Arguments after `--` are passed to pytest: `opkit test my_op -- -k values -x`. With `-- -s` what kernels print is
    shown as it is printed. Kernels run in processes of their own, in which pytest's `--pdb` cannot stop: use
    `opkit gradcheck --pdb`.
    """
    import pytest

    from opkit.cli.configured import paths_of
    from opkit.cli.ends import CLEAN, FINDINGS, INTERRUPTED, NOTHING, SPEC_ERRORS, USAGE
    from opkit.pytest_plugin import OpkitPlugin

    plugin = OpkitPlugin(paths_of([]))
    # A test file that does not import leaves it to the ops' build items to report why.
    options = ["--import-mode=prepend", "--continue-on-collection-errors"]
    outcome = pytest.main([*options, *(paths or [])], plugins=[plugin])
    statuses = {
        pytest.ExitCode.OK: CLEAN,
        pytest.ExitCode.TESTS_FAILED: SPEC_ERRORS if plugin.has_broken_builds else FINDINGS,
        pytest.ExitCode.INTERRUPTED: INTERRUPTED,
        pytest.ExitCode.USAGE_ERROR: USAGE,
        pytest.ExitCode.NO_TESTS_COLLECTED: NOTHING,
    }
    raise typer.Exit(statuses.get(pytest.ExitCode(outcome), FINDINGS))
