"""docs/configuration.md keeps its word: its table is what `opkit config` shows, and every key has its row."""

from __future__ import annotations

import re
from pathlib import Path

from opkit.configuration import KEYS
from tests.cli.test_commands import opkit

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "configuration.md").read_text()


def printed(command: str) -> str:
    """Return what the page says that a command prints."""
    found = re.search(rf"^```text\n\$ {re.escape(command)}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert found is not None
    return found.group(1)


def test_what_config_shows(tmp_path: Path) -> None:
    """To the letter."""
    (table,) = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "pyproject.toml").write_text(table)
    assert opkit(tmp_path, "config").stdout == printed("opkit config")


def test_the_mistake_on_the_page(tmp_path: Path) -> None:
    """To the letter."""
    (tmp_path / "pyproject.toml").write_text("[tool.opkit]\ntiemout = 300\n")
    assert opkit(tmp_path, "gradcheck").stderr == printed("opkit gradcheck")


def test_every_key_has_its_row() -> None:
    """In the page's table."""
    rows = set(re.findall(r"`(\w+)`", "".join(re.findall(r"^\| (.*?) \|", PAGE, re.MULTILINE))))
    assert set(KEYS) <= rows
