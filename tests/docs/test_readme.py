"""The README's tour is what the commands print."""

import re
import shlex
from pathlib import Path

import pytest

from tests.cli.test_commands import opkit
from tests.offline import offline, reached
from tests.project.opdir import edit

README = Path(__file__).resolve().parents[2] / "README.md"
TOUR = re.compile(r"^```\n\$ opkit (.*?)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def settled(text: str) -> list[str]:
    """Return the lines of a text without what time and machine decide: seconds, ids, error bounds, last digits."""
    text = re.sub(r" *\d+\.\d\d s\b", " T s", text)
    text = re.sub(r"--repro \w+", "--repro ID", text)
    text = re.sub(r"\d\.\de-1\d", "E", text)
    text = re.sub(r"(\d\.\d{6})\d+", r"\1", text)
    return [" ".join(line.split()) for line in text.splitlines() if line.strip()]


def test_tour(tmp_path: Path) -> None:
    """Each command of the tour prints what stands below it, but for times and ids; none needs a network."""
    steps = TOUR.findall(README.read_text())
    assert [arguments.split()[0] for arguments, _ in steps] == ["new", "build", "gradcheck", "gradcheck", "run"]
    kernel = tmp_path / "my_softplus" / "my_softplus_py_kernel.py"
    for number, (arguments, printed) in enumerate(steps):
        if number == 3:
            edit(kernel, ("return beta * dy * np.exp", "return dy * np.exp"))
        ran = opkit(tmp_path, *arguments.split(), COLUMNS="100", **offline(tmp_path))
        shown = ran.stdout + (ran.stderr if arguments.startswith("build") else "")
        expected = settled(printed)
        assert settled(shown)[: len(expected)] == expected
        if number == 0:
            assert "def forward(args, attrs):" in kernel.read_text()
    assert reached(tmp_path) == ""


def test_kernel_on_the_page_is_the_scaffolded_one(tmp_path: Path) -> None:
    """The kernel that the README shows is the one that the tour's first command writes."""
    opkit(tmp_path, "new", "my_softplus", "--attr", "beta:float=1.5")
    (shown,) = re.findall(r"```python\n(def forward.*?)```", README.read_text(), re.DOTALL)
    assert shown in (tmp_path / "my_softplus" / "my_softplus_py_kernel.py").read_text()


def test_links_lead_somewhere() -> None:
    """Every relative link of the README and of the documentation leads to a file."""
    for page in [README, README.with_name("CONTRIBUTING.md"), *README.parent.glob("docs/**/*.md")]:
        prose = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
        for target in re.findall(r"\]\((?!https?://|#)([^)#]+)", prose):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_a_function_of_torch_is_written(tmp_path: Path) -> None:
    """The first of the page's two steps; both where torch is installed, in test_torch_page.py."""
    pytest.importorskip("sympy")
    (written, files), _ = re.findall(r"^```text\n\$ opkit (.*?)\n(.*?)^```$", README.read_text(), re.MULTILINE | re.DOTALL)
    ran = opkit(tmp_path, *shlex.split(written), COLUMNS="100")
    assert (ran.returncode, ran.stdout.split()[:3]) == (0, files.split()), ran.stderr
