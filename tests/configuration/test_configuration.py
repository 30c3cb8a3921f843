"""[tool.opkit]: what holds in a folder, where it stands, and what cannot be used."""

from __future__ import annotations

from pathlib import Path

import pytest

from opkit.configuration import KEYS, Configuration, document, read_configuration
from opkit.errors import UsageError

pytestmark = pytest.mark.bounded


def configuration(folder: Path, text: str) -> Configuration:
    """Return what a pyproject.toml with that text sets, read in its own folder."""
    (folder / "pyproject.toml").write_text(text, encoding="utf-8")
    return read_configuration(folder)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty working folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_without_a_file_defaults_hold(here: Path) -> None:
    """Every key has one, and none has a place."""
    found = read_configuration(here)
    assert {name: found.value(name) for name in KEYS} == {name: key.default for name, key in KEYS.items()}
    assert [found.where(item) for item in found.settings.values()] == [None] * len(KEYS)


def test_a_setting_knows_its_line(here: Path) -> None:
    """Also one of several lines, one after a text that looks like a header, and one with a dotted key."""
    text = 'note = """\n[tool.opkit]\nseed = 1\n"""\n\n[tool]\nopkit.seed = 2\nopkit.ignore = [\n  "GC140",\n]\nopkit.jobs = 1\n'
    found = configuration(here, text)
    places = {name: str(found.where(item)) for name, item in found.settings.items() if item.keys}
    assert places == {"seed": "pyproject.toml:7", "ignore": "pyproject.toml:8", "jobs": "pyproject.toml:11"}
    assert found.value("ignore") == ("GC140",)


def test_the_nearest_table_counts(here: Path) -> None:
    """A file without the table is passed over; the one with it in a folder above counts, but for its paths."""
    configuration(here, '[tool.opkit]\nseed = 4\npaths = ["ops"]\n')
    below = here / "a" / "b"
    below.mkdir(parents=True)
    (here / "ops").mkdir()
    (here / "a" / "pyproject.toml").write_text("[project]\nname = 'a'\n")
    found = read_configuration(below)
    assert (found.value("seed"), found.paths(), found.paths(["x"])) == (4, (), ("x",))
    assert read_configuration(here).paths() == ("ops",)


def test_what_an_op_has_of_its_own(here: Path) -> None:
    """Overrides keep their order, and know their lines."""
    found = configuration(here, '[tool.opkit.overrides.slow]\ntimeout = 300\n[tool.opkit.overrides."a*"]\nseed = 1\n')
    assert found.options()["overrides"] == {"slow": {"timeout": 300.0}, "a*": {"seed": 1}}
    (slow, _) = found.overrides
    assert str(found.where(slow.settings["timeout"])) == "pyproject.toml:2"


def test_flags_win(here: Path) -> None:
    """Over the table and over what it says of single ops."""
    found = configuration(
        here,
        "[tool.opkit]\nseed = 1\neffort = 2\n[tool.opkit.overrides.a]\nseed = 3\njobs.x = 1\n".replace(
            "jobs.x = 1\n", ""
        ),
    )
    assert found.options(given=["seed"]) == {"effort": 2.0, "overrides": {"a": {}}}


def test_codes_go_to_the_command_that_has_them(here: Path) -> None:
    """A list may hold codes of both commands."""
    found = configuration(here, '[tool.opkit]\nignore = ["gc140", "SBP210"]\n')
    assert found.options("GC")["ignore"] == {"GC140"}
    assert found.options("SBP")["ignore"] == {"SBP210"}


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("[tool.opkit]\ntiemout = 3", 2, "did you mean 'timeout'?"),
        ("[tool.opkit]\nseed = 1\ntimeout = -3", 3, "tool.opkit.timeout must be seconds, 0 for no limit, got -3"),
        ("[tool.opkit]\nseed = true", 2, "must be a whole number, 0 or more, got true"),
        ("[tool.opkit]\neffort = inf", 2, "must be a number above 0, got inf"),
        ("[tool.opkit]\nstrict = 1", 2, "must be true or false, got 1"),
        ('[tool.opkit]\nselect = "GC101"', 2, "must be a list of codes"),
        ('[tool.opkit]\nselect = [\n"GC101",\n"GC1O2"]', 2, "there is no check 'GC1O2'"),
        ('[tool.opkit]\nreports = ["htlm=x"]', 2, "did you mean 'html'?"),
        ('[tool.opkit]\nreports = ["html"]', 2, "must be a list of FORM=FILE"),
        ("[tool.opkit.overrides.a]\njobs = 3", 2, "[tool.opkit.overrides.a] has no key 'jobs'"),
        ("[tool.opkit.overrides]\nseed = 3", 2, "tool.opkit.overrides.seed is not a table"),
        ("[tool]\nopkit = 3", 2, "tool.opkit is not a table"),
        ("[tool.opkit]\nseed = ", 2, "not TOML"),
        ("[tool.opkit]\ntimeout = 1" + "0" * 400, 2, "must be seconds, 0 for no limit"),
        ("[tool.opkit]\nseed = " + "9" * 5000, 0, "cannot read the configuration: Exceeds the limit"),
        ("[tool.opkit]\nseed = " + "[" * 20_000, 0, "nested more than 64 deep"),
        ("[tool.opkit]\n" + "a." * 500 + "b = 1", 0, "nested more than 64 deep"),
        ("#" * (1 << 20) + "\n[tool.opkit]", 0, "more than the 1048576 that are read"),
    ],
)
def test_a_mistake_has_its_line(here: Path, text: str, line: int, message: str) -> None:
    """And says what was expected, or the nearest name."""
    with pytest.raises(UsageError) as caught:
        configuration(here, text)
    assert caught.value.where is not None
    assert (caught.value.where.file, caught.value.where.line) == ("pyproject.toml", line)
    assert message in str(caught.value)


def test_a_path_that_is_not_there_has_its_line(here: Path) -> None:
    """It is a mistake in the file where no path is given; given ones win."""
    found = configuration(here, '[tool.opkit]\nseed = 1\npaths = ["nothere"]\n')
    with pytest.raises(UsageError, match="no such file or folder: 'nothere'") as caught:
        found.paths()
    assert str(caught.value.where) == "pyproject.toml:3"
    assert found.paths(["mine"]) == ("mine",)


def test_a_line_is_found_in_few_parses(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a file of thousands of lines, which would take a minute to parse after each of them."""
    parses: list[int] = []
    loads = document.tomllib.loads
    monkeypatch.setattr(document.tomllib, "loads", lambda text: parses.append(1) or loads(text))
    with pytest.raises(UsageError) as caught:
        configuration(here, "[tool]\n" + "".join(f"k{number} = 1\n" for number in range(2000)) + "opkit.sed = 1\n")
    assert str(caught.value.where) == "pyproject.toml:2002"
    assert len(parses) < 20


def test_a_line_that_takes_too_long_to_find_is_left_out(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before a value of thousands of lines, each of which ends no value."""
    monkeypatch.setattr(document, "_MOST_PARSED", 10_000)
    with pytest.raises(UsageError) as caught:
        configuration(here, "[tool]\nk = [\n" + "1,\n" * 2000 + "]\nopkit.sed = 1\n")
    assert str(caught.value.where) == "pyproject.toml"
