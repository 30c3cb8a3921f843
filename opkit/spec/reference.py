"""Reference: the tables of docs/spec-language.md, made from the compiler's own tables.

Run ``python -m opkit.spec.reference docs/spec-language.md`` to write them into the page again.
"""

from __future__ import annotations

import sys
from pathlib import Path

from opkit.spec.findings import CODES, ERRORS_IN_GRADIENTS
from opkit.spec.library.registration_names import GRAD_SETTERS, IGNORED_SETTERS, SETTERS
from opkit.spec.library.table import (
    CONSTANTS,
    DATA_TYPES,
    FREE_FUNCTIONS,
    METHODS,
    STATIC_FUNCTIONS,
    LibraryFunction,
    type_names,
)
from opkit.spec.library.types import ATTR_TYPES, CLASS_ALIASES, Type, spelled
from opkit.spec.lower.standard import special_names
from opkit.spec.text.macros import SEQUENCE_MACROS

START = "<!-- tables: written by opkit.spec.reference -->"
END = "<!-- end of the tables -->"


def tables() -> str:
    """Return the tables as markdown: everything that definitions may call, under every name it has."""
    parts = [
        "## Registration methods",
        _list(
            [
                "Input",
                "OptionalInput",
                "InputWithMinimum",
                "OptionalInputWithMinimum",
                "and the same with Output",
                "Attr",
                "SupportCpuOnly",
                "NoGrad",
                "SetOutputBufferNum",
                *SETTERS,
            ]
        ),
        f"Accepted and without effect: {_list(sorted(IGNORED_SETTERS))}",
        f"On a gradient: {_list(list(GRAD_SETTERS))}",
        "## Attribute types",
        "| attribute type | C++ |\n|---|---|\n"
        + "\n".join(f"| {name} | `{spelled(kind)}` |" for name, kind in ATTR_TYPES.items()),
        "## Data types",
        "| C++ | opkit |\n|---|---|\n"
        + "\n".join(f"| `DataType::{name}` | {found} |" for name, found in DATA_TYPES.items()),
        "## Members by type",
        *_members(),
        "## Functions of the framework",
        _signatures({**FREE_FUNCTIONS, **STATIC_FUNCTIONS}),
        "## Functions of the standard library, and macros that are words of the language",
        _list(special_names()),
        "## Constants",
        _list(sorted(CONSTANTS)),
        "## Sequence macros",
        _list(sorted(SEQUENCE_MACROS)),
        "## Other names of types",
        "| name | means |\n|---|---|\n"
        + "\n".join(f"| `{name}` | `{spelled(Type(kind))}` |" for name, kind in sorted(CLASS_ALIASES.items())),
        "## Diagnostics",
        "| code | severity | title |\n|---|---|---|\n"
        + "\n".join(f"| {code} | {_severity(code)} | {title} |" for code, (_, title) in CODES.items()),
    ]
    return "\n\n".join(parts) + "\n"


def _severity(code: str) -> str:
    kind = CODES[code][0].value
    return f"{kind}; in a gradient error" if code in ERRORS_IN_GRADIENTS else kind


def _list(names: list[str]) -> str:
    return ", ".join(name if " " in name else f"`{name}`" for name in names)


def _members() -> list[str]:
    parts = []
    for name in sorted(type_names()):
        shown = spelled(Type(name))
        parts.append(f"### {shown}\n\n" + _signatures(METHODS[name], shown in ("std::vector", "HashMap", "HashSet")))
    return parts


def _signatures(table: dict[str, list[LibraryFunction]], is_template: bool = False) -> str:
    lines = []
    for name, overloads in sorted(table.items()):
        for item in overloads:
            params = ", ".join(spelled(kind) for kind in item.params)
            lines.append(f"- `{name}({params})` gives `{spelled(item.result)}{'&' if item.is_ref else ''}`")
    return "\n".join(lines)


def with_tables(page: str) -> str:
    """Return a page with its tables written again between their marks."""
    head, rest = page.split(START, 1)
    _, tail = rest.split(END, 1)
    return f"{head}{START}\n\n{tables()}\n{END}{tail}"


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        file = Path(argument)
        file.write_text(with_tables(file.read_text(encoding="utf-8")), encoding="utf-8")
