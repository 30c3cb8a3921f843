"""Links in a folder from elsewhere do not make opkit write outside of it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from opkit.cli.building import write_amendments
from opkit.errors import UsageError
from opkit.project import op_directory_of, scaffold, scaffold_workflow

KERNEL = "def forward(args):\n    (x,) = args\n    return x * 2\n"
API = (
    "import oneflow as flow\n\n\ndef a(x):\n"
    '    op = flow.user_op_builder("a").Op("a_forward").Input("x", [x]).Output("y").Build()\n'
    "    return op.InferAndTryRun().RemoteBlobList()[0]\n"
)


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """Return a folder beside ``here`` that stays empty."""
    (tmp_path / "here").mkdir()
    (tmp_path / "outside").mkdir()
    return tmp_path / "outside"


@pytest.mark.parametrize("link", [".github", ".github/workflows"])
def test_a_workflow_is_not_written_through_a_linked_folder(outside: Path, link: str) -> None:
    """``opkit new --ci`` in a repository that links its folder of workflows to another place."""
    here = outside.parent / "here"
    (here / link).parent.mkdir(exist_ok=True)
    (here / link).symlink_to(outside)
    with pytest.raises(UsageError, match="cannot write"):
        scaffold_workflow(here, force=True)
    assert os.listdir(outside) == []


def test_a_workflow_is_not_written_through_a_link(outside: Path) -> None:
    """A link in the file's place counts as a file: it is refused, and with --force the link is replaced."""
    here = outside.parent / "here"
    (here / ".github" / "workflows").mkdir(parents=True)
    path = here / ".github" / "workflows" / "opkit.yml"
    path.symlink_to(outside / "planted")
    with pytest.raises(UsageError, match="already exists"):
        scaffold_workflow(here)
    scaffold_workflow(here, force=True)
    assert not path.is_symlink()
    assert os.listdir(outside) == []


def test_a_definition_is_not_written_through_a_link(outside: Path) -> None:
    """``opkit build --fix`` of a directory whose definition is a link that leads nowhere yet."""
    place = outside.parent / "here" / "a"
    place.mkdir()
    (place / "a_py_kernel.py").write_text(KERNEL)
    (place / "a_py_api.py").write_text(API)
    (place / "a_cpp_def.cpp").symlink_to(outside / "planted")
    with pytest.raises(UsageError, match="is a link to"):
        write_amendments([op_directory_of(place)])
    assert os.listdir(outside) == []


def test_an_op_is_not_written_through_a_linked_folder(outside: Path) -> None:
    """``opkit new --force`` where a link stands in the op's place."""
    here = outside.parent / "here"
    (here / "a").symlink_to(outside)
    with pytest.raises(UsageError):
        scaffold("a", here, force=True)
    assert os.listdir(outside) == []
