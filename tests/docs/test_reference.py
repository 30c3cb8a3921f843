"""The pages of reference are what the program says of itself."""

import importlib
import importlib.util
import os
import re
from pathlib import Path
from types import ModuleType

DOCS = Path(__file__).resolve().parents[2] / "docs"


def generator() -> ModuleType:
    """Load the script that writes the pages."""
    spec = importlib.util.spec_from_file_location("docs_reference", DOCS / "reference.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_of_commands_is_what_the_program_says() -> None:
    """Every command and option: OPKIT_UPDATE_GOLDEN=1 writes the page anew."""
    made = generator().command_line_page()
    page = DOCS / "cli-reference.md"
    if os.environ.get("OPKIT_UPDATE_GOLDEN"):
        page.write_text(made, encoding="utf-8")
    assert page.read_text(encoding="utf-8") == made


def test_the_page_of_python_has_every_public_name() -> None:
    """Names, arguments and what is raised come from the docstrings; no address of this process is in it."""
    script = generator()
    made = script.python_page()
    names = [f"{name}.{item}" for name in script.PACKAGES for item in importlib.import_module(name).__all__]
    assert [name for name in names if "__" not in name and not re.search(rf"^### (class )?{name}$", made, re.M)] == []
    assert "- `target`: what the command line takes" in made
    assert " at 0x" not in made


def test_every_page_is_in_the_index_and_on_the_site() -> None:
    """A page that nobody can find is not documentation."""
    site = (DOCS.parent / "mkdocs.yml").read_text(encoding="utf-8")
    index = (DOCS / "README.md").read_text(encoding="utf-8")
    names = {path.name for path in DOCS.glob("*.md")} - {"README.md", "python-reference.md"}
    assert {name for name in names if f"- {name}\n" not in site} == set()
    assert {name for name in names if f"({name})" not in index} == set()


def test_links_lead_to_pages_of_the_documentation() -> None:
    """A link that leaves the folder, or leads nowhere, breaks the site."""
    site = (DOCS.parent / "mkdocs.yml").read_text(encoding="utf-8")
    left_out = [DOCS / line.strip() for line in site.partition("exclude_docs: |\n")[2].partition("\nval")[0].splitlines()]
    broken = []
    for page in [*DOCS.glob("*.md"), *DOCS.glob("decisions/*.md")]:
        text = re.sub(r"^```.*?^```$|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
        for target in re.findall(r"\]\((?!https?:|#)([^)#\s]+)", text):
            path = (page.parent / target).resolve()
            if not path.is_file() or DOCS not in path.parents or {path, *path.parents} & {*left_out}:
                broken.append(f"{page.name}: {target}")
    assert broken == []
