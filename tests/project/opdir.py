"""Op directories for tests: a scaffolded op whose files are then changed."""

from pathlib import Path

from opkit.project import scaffold


def write_op(folder: Path, name: str = "t", kind: str = "elementwise", **options: object) -> Path:
    """Scaffold an op and return its directory."""
    scaffold(name, folder, kind, **options)
    return folder / name


def edit(path: Path, *pairs: tuple[str, str]) -> None:
    """Replace pieces of a file, each of which must be there."""
    text = path.read_text()
    for old, new in pairs:
        assert old in text, old
        text = text.replace(old, new)
    path.write_text(text)


def place(path: Path, text: str, nth: int = 1) -> tuple[int, int]:
    """Return the 1-based line and column of the nth occurrence of a text in a file."""
    content = path.read_text()
    at = -1
    for _ in range(nth):
        at = content.index(text, at + 1)
    return content.count("\n", 0, at) + 1, at - (content.rfind("\n", 0, at) + 1) + 1
