"""``opkit config``: which settings hold here, and where each comes from."""

from __future__ import annotations

from opkit.cli.flags import PlainForm


def config(
    form: PlainForm = "text",
) -> None:
    """Show the settings that hold in this folder, and where each comes from: [tool.opkit] of a pyproject.toml.

    The nearest pyproject.toml with such a table counts, here or in a folder above. Flags win over it.

    Example: `opkit config`.
    """
    from pathlib import Path

    from opkit.cli.arguments import choice
    from opkit.cli.console import put
    from opkit.cli.settings_table import as_json, as_lines
    from opkit.configuration import read_configuration

    choice("--format", form, ("text", "json"))
    found = read_configuration(Path.cwd())
    put(as_json(found) if form == "json" else as_lines(found))
