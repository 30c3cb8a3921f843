"""Rendering: opkit's templates, found in a wheel and beside a checkout, and how their text is tidied.

What the templates read is their kind's business; no file is written here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import jinja2

from opkit.errors import UsageError


def templates_folder() -> Path:
    """Return the folder of the templates: inside the package in a wheel, at the repository's root otherwise."""
    package = Path(__file__).resolve().parents[1]
    for folder in (package / "templates", package.parent / "templates"):
        if (folder / "op").is_dir():
            return folder
    raise UsageError(f"opkit's templates are missing beside {package}", help="reinstall opkit")


def rendered(template: str, context: Mapping[str, object]) -> str:
    """Return the text of a template, by its path in the folder of the templates."""
    return environment_of().get_template(template).render(context)


def tidy(text: str) -> str:
    """Return a file's text without more than two empty lines in a row, and with one end of line at its end."""
    return re.sub(r"\n{4,}", "\n\n\n", text).rstrip("\n") + "\n"


def environment_of(*own: Path) -> jinja2.Environment:
    """Return an environment with opkit's templates, those of the user's own folders before them."""
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader([*own, templates_folder()]),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )


def class_name(name: str) -> str:
    """Return the name of an op's class."""
    return "".join(part[:1].upper() + part[1:] for part in name.split("_")) or name
