"""The explanation pages: one markdown file per code, and one of the words of reports, shipped as package data."""

from __future__ import annotations

from importlib.resources import files

from opkit.errors import UsageError, did_you_mean, nearest

#: What the codes that begin so are about.
FAMILIES = {"SPEC": "definitions", "PROJ": "op directories", "GC": "gradcheck", "SBP": "sbp"}


def codes() -> tuple[str, ...]:
    """Return every code that has a page, sorted."""
    folder = files("opkit.diagnostics").joinpath("pages")
    return tuple(sorted(item.name[:-3] for item in folder.iterdir() if item.name.endswith(".md")))


def titles(family: str = "") -> tuple[tuple[str, str], ...]:
    """Return (code, title) of every code that begins so, sorted; the title is the first line of its page."""
    found = []
    for code in codes():
        if code.startswith(family):
            first = files("opkit.diagnostics").joinpath("pages").joinpath(f"{code}.md").read_text(encoding="utf-8")
            found.append((code, first.partition("\n")[0].partition(": ")[2]))
    return tuple(found)


def words() -> str:
    """Return what the words of reports mean, as a list in markdown."""
    return files("opkit.diagnostics").joinpath("words.md").read_text(encoding="utf-8")


def explain(code: str) -> str:
    """Return the page of a code, or what a word of reports means, as markdown.

    Args:
        code: for example ``SPEC010`` or ``undecided``; case does not matter.

    Raises:
        UsageError: no such code; the message names the nearest, and the families.
    """
    name = code.strip().upper()
    items = {item.partition("**")[0]: f"**{' '.join(item.split())}\n" for item in words().split("- **")[1:]}
    meanings = {word.upper(): item for word, item in items.items()}
    if name.replace("-", " ") in meanings:
        return meanings[name.replace("-", " ")]
    known = codes()
    if name not in known:
        within = {part.upper(): word for word in items for part in (*word.split(), word)}
        near = did_you_mean([*dict.fromkeys(within.get(item, item) for item in _near(name, (*known, *within)))])
        families = ", ".join(f"{family} ({what})" for family, what in FAMILIES.items())
        what = "code" if any(map(str.isdigit, name)) else "code or word of a report"
        raise UsageError(
            f"there is no {what} {code!r}",
            help=f"{near}{near and ' '}Families: {families}; 'opkit explain {next(iter(FAMILIES))}' lists one",
        )
    return files("opkit.diagnostics").joinpath("pages").joinpath(f"{name}.md").read_text(encoding="utf-8")


def _near(name: str, known: tuple[str, ...]) -> list[str]:
    """Return at most three codes: those with that beginning, else those with that number, else similar ones."""
    if name.startswith(tuple(FAMILIES)):
        begun = [code for code in known if code.startswith(name)]
        if begun:
            return begun[:3]
    number = name.lstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZ-_ ").lstrip("0")
    same = [code for code in known if number and code.lstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZ").lstrip("0") == number]
    family = [code for code in same if name[:1] == code[:1]]
    return (family or same)[:3] or nearest(name, known)
