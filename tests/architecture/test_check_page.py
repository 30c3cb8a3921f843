"""The functions that docs/architecture.md names on the way of a check are there."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "architecture.md").read_text()
METHOD = (ROOT / "docs" / "gradcheck-method.md").read_text()
NAMES = re.findall(r"`(opkit\.[\w.]+)`", TEXT.partition("\n## A check\n")[2].partition("\n## ")[0])


def test_the_section_is_there() -> None:
    assert len(NAMES) > 20


@pytest.mark.parametrize("name", NAMES)
def test_a_step_is_a_function_of_its_module(name: str) -> None:
    parts = name.split(".")
    for count in range(len(parts), 0, -1):
        try:
            found = import_module(".".join(parts[:count]))
        except ModuleNotFoundError:
            continue
        for part in parts[count:]:
            found = getattr(found, part)
        return
    pytest.fail(f"there is no module {name}")


def test_the_files_of_the_rules_are_there() -> None:
    """In the folder that is named with them, or that of the file before them."""
    last = ROOT / "opkit"
    for name in re.findall(r"`(?:opkit/)?([\w/]+\.py)`", METHOD):
        last = ROOT / "opkit" / name if "/" in name else last.with_name(name)
        assert last.is_file(), name
