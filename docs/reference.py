"""Writes the two pages of reference that are taken from the program: its command line, and its Python names.

    python docs/reference.py [FOLDER]

The page of the command line is checked in, and a test compares it (`OPKIT_UPDATE_GOLDEN=1` there writes it anew);
that of Python is written for the site alone, by `make docs`.
"""

from __future__ import annotations

import importlib
import inspect
import re
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_origin

from typer.main import get_command

from opkit.atomic import write_file
from opkit.cli.app import application

__all__ = ["command_line_page", "pages", "python_page"]

#: What scripts rely on, in the order of the page. The frameworks' names are theirs, and have pages of their own.
PACKAGES = (
    "opkit",
    "opkit.testing",
    "opkit.checker",
    "opkit.verify",
    "opkit.spec",
    "opkit.diagnostics",
    "opkit.project",
    "opkit.export",
)
_NOTE = "<!-- Written by docs/reference.py: change the program, not this page. -->"
_SECTIONS = ("Args", "Attributes", "Returns", "Yields", "Raises", "Example", "Examples", "Source")


def pages() -> dict[str, str]:
    """Return the pages by file name."""
    return {"cli-reference.md": command_line_page(), "python-reference.md": python_page()}


# ---- the command line ------------------------------------------------------------------------------------------------
def command_line_page() -> str:
    """Return the page of all commands with their arguments and options."""
    root: Any = get_command(application())
    parts = [
        "# Commands and options",
        _NOTE,
        "Taken from the program, as `opkit COMMAND --help` shows it. [The command line](cli.md) says what is "
        "common to them.",
        "## opkit",
        *_command(root, "opkit [OPTIONS] COMMAND ..."),
    ]
    for name, command in root.commands.items():
        arguments = [_argument(item) for item in command.params if item.param_type_name == "argument"]
        parts += [f"## opkit {name}", *_command(command, " ".join(["opkit", name, "[OPTIONS]", *arguments]))]
    return "\n\n".join(parts) + "\n"


def _command(command: Any, usage: str) -> Iterator[str]:
    yield f"```text\n{usage}\n```"
    for block in (command.help or "").split("\n\n"):
        if block.strip():
            yield " ".join(block.split())
    arguments = [item for item in command.params if item.param_type_name == "argument" and item.help]
    options = [item for item in command.params if item.param_type_name == "option" and not item.hidden]
    if arguments:
        yield _table("argument", [(f"`{_argument(item)}`", item.help) for item in arguments])
    if options:
        yield _table("option", [(_option(item), _said(item)) for item in options])


def _argument(item: Any) -> str:
    name = (item.metavar or item.name.upper()) + ("..." if item.nargs == -1 else "")
    return name if item.required else f"[{name}]"


def _option(item: Any) -> str:
    takes_value = not getattr(item, "is_flag", False) and (
        item.metavar is not None or not isinstance(item.default, bool)
    )
    value = f" {item.metavar or item.name.upper()}" if takes_value else ""
    return ", ".join(f"`{name}{value}`" for name in (*item.opts, *item.secondary_opts))


def _said(item: Any) -> str:
    is_shown = item.show_default is not False and not isinstance(item.default, bool) and not callable(item.default)
    if is_shown and item.default not in (None, "", [], ()):
        return f"{item.help or ''} Default: `{item.default}`."
    return item.help or ""


def _table(heading: str, rows: list[tuple[str, str]]) -> str:
    lines = [f"| {heading} | what it is |", "|---|---|"]
    for name, said in rows:
        lines.append("| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in (name, said)) + " |")
    return "\n".join(lines)


# ---- Python ----------------------------------------------------------------------------------------------------------
def python_page() -> str:
    """Return the page of all public names with their signatures and docstrings."""
    parts = [
        "# Python names",
        _NOTE,
        "Taken from the docstrings of what is public. [opkit in Python](python-api.md) shows them at work; "
        "`opkit.paddle` and `opkit.oneflow` have the names that those frameworks document.",
    ]
    for name in PACKAGES:
        package = importlib.import_module(name)
        parts += [f"## {name}", *_documented(inspect.getdoc(package) or "")]
        for item in package.__all__:
            if not item.startswith("__"):
                parts += _name(name, item, inspect.unwrap(getattr(package, item)))
    return "\n\n".join(parts) + "\n"


def _name(package: str, name: str, value: Any) -> Iterator[str]:
    if _is_class(value):
        yield f"### class {package}.{name}"
        yield from _called(name, value)
        yield from _documented(inspect.getdoc(value) or "")
        yield from _members(value)
    elif inspect.isfunction(value):
        yield f"### {package}.{name}"
        yield from _called(name, value)
        yield from _documented(inspect.getdoc(value) or "")
    else:  # a type that callers write, or data
        yield f"### {package}.{name}"
        is_data = isinstance(value, (dict, tuple, frozenset, str))
        yield f"Data: a `{type(value).__name__}`." if is_data else "A type, for annotations."


def _is_class(value: Any) -> bool:
    return isinstance(value, type) and get_origin(value) is None


def _called(name: str, value: Any) -> Iterator[str]:
    if _is_class(value) and issubclass(value, (tuple, BaseException)):
        return
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return
    if hasattr(value, "__members__"):
        return
    rest = [_parameter(item) for item in signature.parameters.values()]
    named = [item.kind for item in signature.parameters.values()]
    if inspect.Parameter.KEYWORD_ONLY in named and inspect.Parameter.VAR_POSITIONAL not in named:
        rest.insert(named.index(inspect.Parameter.KEYWORD_ONLY), "*")
    text = f"{name}({', '.join(rest)})" + _result(signature)
    if len(text) > 100:
        marks = ",\n    ".join(rest)
        text = f"{name}(\n    {marks},\n)" + _result(signature)
    yield f"```python\n{text}\n```"


def _parameter(item: inspect.Parameter) -> str:
    text = re.sub(r" at 0x[0-9a-f]+", "", re.sub(r"<factory>", "...", str(item)))
    return re.sub(r": '(.*?)'(?= = |$)", r": \1", text).replace("mappingproxy({})", "{}")


def _result(signature: inspect.Signature) -> str:
    if signature.return_annotation in (inspect.Signature.empty, None, "None"):
        return ""
    return f" -> {str(signature.return_annotation).strip(chr(39))}"


def _members(value: type) -> Iterator[str]:
    rows = []
    for name, member in vars(value).items():
        if name.startswith("_"):
            continue
        function = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
        if inspect.isfunction(function) and function.__doc__:
            first = inspect.cleandoc(function.__doc__).split("\n\n")[0]
            parameters = list(inspect.signature(function).parameters.values())[1:]
            shown = "" if isinstance(member, property) else f"({', '.join(item.name for item in parameters)})"
            rows.append((f"`{name}{shown}`", first.replace("``", "`")))
    if hasattr(value, "__members__"):
        rows = [(f"`{name}`", f"`{item.value!r}`") for name, item in value.__members__.items()] + rows
    if rows:
        yield _table("member", rows)


def _documented(text: str) -> Iterator[str]:
    """Yield a docstring's blocks as Markdown: prose, lists of what is named, examples as code."""
    text = re.sub(r"``([^`\n]+)``", r"`\1`", text)
    for block in re.split(r"\n\s*\n(?=\S)", text.strip()):
        heading, _, rest = block.partition("\n")
        if heading.rstrip(":") in _SECTIONS and heading.endswith(":"):
            yield from _section(heading.rstrip(":"), inspect.cleandoc("\n" + rest))
        elif re.match(r"(\S.*\n)?\s{4,}\S", block) and ">>>" not in block:
            yield "```text\n" + inspect.cleandoc(block) + "\n```"
        else:
            yield " ".join(block.split()) if ">>>" not in block else f"```python\n{block}\n```"


def _section(heading: str, text: str) -> Iterator[str]:
    if heading.startswith("Example"):
        yield f"```python\n{text}\n```"
        return
    items = re.split(r"\n(?=\S)", text)
    named = [re.match(r"([*\w][\w.*, ]*): (.*)", item, re.DOTALL) for item in items]
    title = {"Args": "Arguments"}.get(heading, heading)
    if all(named) and heading not in ("Returns", "Yields", "Source"):
        lines = [f"- `{found[1]}`: {' '.join(found[2].split())}" for found in named if found is not None]
        yield f"{title}:\n\n" + "\n".join(lines)
    else:
        yield f"{title}: " + " ".join(textwrap.dedent(text).split())


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
    for file, made in pages().items():
        write_file(folder / file, made.encode("utf-8"))
