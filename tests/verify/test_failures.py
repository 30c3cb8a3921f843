"""Failures survive the way to the disk and back; what cannot be read is as good as none."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import opkit
from opkit.checker import Arg, Attr, Case, Checkable, CheckResult, Evidence, OpReport, Status
from opkit.errors import UsageError
from opkit.verify import FailureStore
from opkit.verify.failures.store import domain_of
from opkit.verify.options import RunOptions
from opkit.verify.workers.one_op import check_former

pytestmark = pytest.mark.bounded

ATTRS = {"alpha": 0.1, "axes": (0, 1), "name": "é"}


def report(attrs: dict | None = None, size: int = 3) -> OpReport:
    """Return a report with one failure that has a list, a missing and a 0-d input."""
    inputs = {"x": np.arange(float(size)), "parts": [np.ones(2), np.zeros((1, 2))], "mask": None, "s": np.array(2.0)}
    case = Case(inputs, attrs or ATTRS, "ties", 5)
    evidence = Evidence(case, (np.full(3, -1.0),), (1,), (), pattern="sign")
    bad = CheckResult(
        "jacobian", Status.FAIL, "GC101", "wrong", "x", "y", case.to_json(), 1.0, float("nan"), evidence=evidence
    )
    good = CheckResult("zero", Status.PASS, "GC112")
    return OpReport("file.py::Op", (good, bad))


def op() -> Checkable:
    """Return the op of that report."""
    names = ("x", "parts", "mask", "s")
    attrs = tuple(Attr(name, "any", value) for name, value in ATTRS.items())
    return Checkable(
        "file.py::Op", tuple(Arg(name) for name in names), (Arg("y"),), lambda arrays, attrs: [], attrs=attrs
    )


def test_a_failure_comes_back_as_it_was(tmp_path: Path) -> None:
    """Arrays, lists, missing inputs, attributes and their kinds are kept."""
    store = FailureStore(str(tmp_path))
    saved = store.update(report())
    assert list(saved) == [1]
    (found,) = store.of(op())
    assert (found.id, found.key) == (saved[1], ("GC101", "x", "y"))
    assert found.case.attrs == ATTRS
    assert (found.case.regime, found.case.seed) == ("ties", 5)
    np.testing.assert_array_equal(found.case.inputs["parts"][1], np.zeros((1, 2)))
    assert found.case.inputs["mask"] is None
    assert found.case.inputs["s"].shape == ()
    np.testing.assert_array_equal(found.douts[0], np.full(3, -1.0))
    assert found.facts["result"]["actual"] == "nan"
    assert store.find(saved[1]).id == saved[1]


def test_what_failed_with_an_option_is_not_asked_of_an_array(tmp_path: Path) -> None:
    """Annotations that were written since declare one: the number of the earlier run is none of its shapes."""
    store = FailureStore(str(tmp_path))
    store.update(report())
    assert not store.of(replace(op(), inputs=(*op().inputs, Arg("alpha"))))


def test_what_is_gone_is_forgotten_only_when_all_was_checked(tmp_path: Path) -> None:
    """A run over some checks forgets nothing of the others."""
    store = FailureStore(str(tmp_path))
    store.update(report())
    store.update(OpReport("file.py::Op"), is_whole=False)
    assert store.of(op())
    store.update(OpReport("file.py::Op"))
    assert not store.of(op())


CASES = "LOW = 1.0\n\ndef cases(rng):\n    yield {'x': rng.uniform(LOW, 2, 3)}\n"


@pytest.mark.parametrize(
    ("before", "after", "is_replayed"),
    [
        ("", "", True),
        ("", CASES, False),
        (CASES, "", False),
        (CASES, "# the domain\n" + CASES, True),
        (CASES, CASES + "TOLERANCE = {'x': 1e-4}\nALLOW: dict = {'GC105': 'why'}\n", True),
        (CASES, CASES.replace("1.0", "1.5"), False),
        (CASES, "def cases(rng", False),
    ],
)
def test_a_failure_is_replayed_only_in_the_domain_that_it_was_found_in(
    before: str, after: str, is_replayed: bool, tmp_path: Path
) -> None:
    """New or other cases, of a directory or of a Python file, say that other inputs are meant."""
    made = tmp_path / "op"
    made.mkdir()
    layers = tmp_path / "layers.py"
    store = FailureStore(str(tmp_path / "failures"))
    found = []
    for text in (before, after):
        (made / "op_cases.py").write_text(text)
        layers.write_text("class Op: pass\n\nA = 1\n" + text)
        for name, directory in (("op_forward", str(made)), (f"{layers}::Op", None)):
            if text is before:
                store.update(replace(report(), op=name, dir=directory))
            found.append(bool(store.of(replace(op(), name=name, directory=directory))))
    # A function may take its numbers from anywhere in a Python file; only its own text is compared there.
    assert found == [True, True, is_replayed, is_replayed or "1.5" in after]


def test_cases_of_another_op_of_the_file_are_no_domain(tmp_path: Path) -> None:
    """``cases_Name`` is an op's own, and wins over ``cases``."""
    file = tmp_path / "two.py"
    file.write_text("def cases_A(rng): yield [1]\n\ndef cases(rng): yield [2]\n\nclass A: pass\n")
    first = [domain_of(None, f"{file}::{name}") for name in ("A", "B")]
    file.write_text("def cases_A(rng): yield [3]\n\ndef cases(rng): yield [2]\n\nclass A: pass\n")
    second = [domain_of(None, f"{file}::{name}") for name in ("A", "B")]
    assert [one == other for one, other in zip(first, second)] == [False, True]
    assert domain_of(None, "function") == domain_of(None, "none.py::A") == ""


def test_a_failure_of_other_shapes_than_those_asked_for_is_not_replayed(tmp_path: Path) -> None:
    """``--shape`` leaves out former failures that have another one."""
    FailureStore(str(tmp_path)).update(report(size=3))
    wrong = replace(op(), forward=broken)
    for shape, is_replayed in (((3,), True), ((4,), False)):
        options = RunOptions.of({"cache": str(tmp_path), "shapes": {"x": shape}})
        CALLS.clear()
        check_former(wrong, options)
        assert bool(CALLS) is is_replayed


def test_no_verdict_depends_on_what_an_earlier_run_left(tmp_path: Path) -> None:
    """What failed on shapes that were asked for is a note of a run that does not try them."""

    def slope(x: np.ndarray, dy: np.ndarray) -> np.ndarray:
        return dy * (3 if x.shape == (77, 3) else 2)

    def status(**options: Any) -> tuple[str, str]:
        given = {"effort": 0.1, "replay": True, "cache": str(tmp_path), **options}
        (op,) = opkit.gradcheck(forward=lambda x: 2 * x, backward=slope, **given).ops
        return op.status.value, "\n".join(op.notes)

    assert status(shapes={"x": (77, 3)})[0] == "fail"
    said = status()
    assert said[0] == status(replay=False)[0] == "pass"
    assert "of an earlier run" in said[1]


def test_former_failures_come_after_the_run(tmp_path: Path) -> None:
    """A function that remembers what it was asked knows nothing of an earlier run while it is judged."""
    asked: list[tuple[int, ...]] = []

    def slope(x: np.ndarray, dy: np.ndarray) -> np.ndarray:
        asked.append(x.shape)
        return dy * (3 if x.shape == (77, 3) else 2)

    def run(**options: Any) -> None:
        asked.clear()
        opkit.gradcheck(forward=lambda x: 2 * x, backward=slope, effort=0.1, replay=True, cache=str(tmp_path), **options)

    run(shapes={"x": (77, 3)})
    run()
    first = asked.index((77, 3))
    assert first > len(asked) / 2
    assert set(asked[first:]) == {(77, 3)}


CALLS: list[int] = []


def broken(arrays: Any, attrs: Any) -> Any:
    CALLS.append(1)
    raise ValueError


def test_attributes_that_are_no_data_are_not_replayed(tmp_path: Path) -> None:
    """A function cannot come back from the disk; its case is kept for a script, not run again."""
    store = FailureStore(str(tmp_path))
    assert store.update(report({"alpha": np.tanh}))
    assert store.of(op()) == []


@pytest.mark.parametrize("junk", [b"", b"no archive", b"PK\x03\x04 cut off"])
def test_broken_files_are_passed_over(tmp_path: Path, junk: bytes) -> None:
    """A file that cannot be read breaks no run."""
    store = FailureStore(str(tmp_path))
    (name,) = store.update(report()).values()
    (file,) = tmp_path.glob("*/*.npz")
    file.write_bytes(junk)
    assert store.of(op()) == []
    with pytest.raises(UsageError):
        store.find(name)


def test_a_cache_that_cannot_be_written_breaks_no_run(tmp_path: Path) -> None:
    """Nothing is saved, nothing is raised."""
    (tmp_path / "file").write_text("")
    assert FailureStore(str(tmp_path / "file" / "below")).update(report()) == {}


def test_huge_inputs_are_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cache is bounded."""
    monkeypatch.setattr("opkit.verify.failures.store._MOST_BYTES", 100)
    assert FailureStore(str(tmp_path)).update(report(size=1000)) == {}


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"PK\5\6" + b"\0" * 18,
        b'{"format": 1}',
        {"meta": np.array('{"format": 1}')},
        {"meta": np.array('{"format": 1, "order": 5, "lists": {}, "attrs": {}, "regime": 1, "seed": 1, "key": []}')},
        {"meta": np.array("[" * 100_000)},
        {"meta": np.array([1, 2])},
        {"input.x": np.ones(3)},
    ],
)
def test_a_damaged_failure_is_none(tmp_path: Path, content: Any) -> None:
    """What somebody has changed in the cache ends no run, and is not found."""
    folder = tmp_path / "op-12345678"
    folder.mkdir()
    if isinstance(content, dict):
        np.savez(folder / "abc.npz", **content)
    else:
        (folder / "abc.npz").write_bytes(content)
    with pytest.raises(UsageError, match="no failure 'abc'"):
        FailureStore(str(tmp_path)).find("abc")
