"""The functions that docs/architecture.md names on the way of a check are there."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "architecture.md").read_text()
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
