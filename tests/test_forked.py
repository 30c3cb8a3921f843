"""Tests of copies of a process: they end where the user's code is left."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from opkit.forked import end_if_forked
from opkit.project.module import load_module

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")


def test_the_process_itself_goes_on() -> None:
    """Nothing happens in the process whose id was taken."""
    end_if_forked(os.getpid())


@pytest.mark.skipif(sys.platform == "darwin", reason="frameworks of macOS do not bear a fork")
def test_a_copy_made_while_a_file_is_loaded_ends_there(tmp_path: Path) -> None:
    """A file that forks at its top level is loaded once, and its copy leaves with status 0."""
    file = tmp_path / "forks.py"
    file.write_text("import os\npid = os.fork()\n")
    module = load_module(file)
    _, status = os.waitpid(module.pid, 0)
    assert status == 0
