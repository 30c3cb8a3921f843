"""A bad op is a finding with its inputs saved; the other ops go on."""

from __future__ import annotations

import math
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from opkit.blind import limits
from opkit.checker import Options
from opkit.reporters import text_report
from opkit.verify import FailureStore, RunOptions, run_targets
from opkit.verify.isolation import blame
from opkit.verify.isolation.flight import FlightReading, Phase
from opkit.verify.isolation.supervisor import Death, Ended, can_fork
from tests.verify.opdirs import SQUARE, make_op

pytestmark = [
    pytest.mark.skipif(not can_fork(), reason="isolation by fork"),
    pytest.mark.xdist_group("isolation"),  # one run of the deadly ops
]


@pytest.fixture(autouse=True)
def interruptible():
    """Let Ctrl-C interrupt: a shell's background job starts with SIGINT ignored, and so would what it starts."""
    old = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, old)


QUICK = RunOptions(Options(effort=0.05), timeout=20, memory=1500)

BAD = {
    "crashes": ("import ctypes", "ctypes.string_at(0)", "GC191"),
    "exits": ("import sys", "sys.exit(0)", "GC193"),
    "leaves": ("import os", "os._exit(0)", "GC193"),
    "aborts": ("import os", "os.abort()", "GC191"),
}


def bad_kernel(extra: str, line: str) -> str:
    """Return kernels whose backward runs a line."""
    return SQUARE.replace("import numpy as np", f"import numpy as np\n{extra}").replace(
        "    return 2 * x * dy", f"    {line}\n    return 2 * x * dy"
    )


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory):
    """One run over four bad ops and two good ones."""
    folder = tmp_path_factory.mktemp("ops")
    make_op(folder, "a_good")
    make_op(folder, "z_good")
    for name, (extra, line, _) in BAD.items():
        make_op(folder, name, bad_kernel(extra, line))
    cache = tmp_path_factory.mktemp("cache")
    return run_targets([folder], RunOptions(QUICK.check, timeout=20, cache=str(cache)))


@pytest.mark.parametrize("name", BAD)
def test_a_deadly_op_is_a_finding(outcome, name) -> None:
    """The code says how it died, the place is the user's line, and the fatal inputs are there."""
    (op,) = [op for op in outcome.report.ops if op.op == f"{name}_forward"]
    assert op.status.value == "error"
    (finding,) = op.findings
    assert finding.code == BAD[name][2]
    assert finding.case is not None
    assert isinstance(finding.evidence.case.inputs["x"], np.ndarray)
    if name != "leaves":  # nothing can be said of the line of a process that left without a trace
        assert finding.where.file.endswith(f"{name}_py_kernel.py")
        assert finding.where.line == 12


def test_other_ops_go_on(outcome) -> None:
    """The good ops pass, in the order of their paths."""
    names = [op.op for op in outcome.report.ops]
    assert names == sorted(names)
    good = [op for op in outcome.report.ops if op.op.endswith("_good_forward")]
    assert [op.status.value for op in good] == ["pass", "pass"]
    assert outcome.exit_status() == 1


def test_inputs_of_the_fatal_call_are_saved(outcome) -> None:
    """Each deadly op has an id for --repro."""
    assert len(outcome.saved) == len(BAD)


def test_a_hang_is_ended_and_told(here: Path) -> None:
    """A backward that never returns is an error with the line it stands on and the inputs it got."""
    make_op(here, "hangs", bad_kernel("", "while True: pass"))
    started = time.monotonic()
    outcome = run_targets(["hangs"], RunOptions(QUICK.check, timeout=2))
    assert time.monotonic() - started < 15
    (finding,) = outcome.report.ops[0].findings
    assert (finding.code, finding.status.value) == ("GC192", "error")
    assert finding.where.line == 12
    assert finding.case is not None


def test_a_slow_op_is_an_error_with_what_was_finished(here: Path) -> None:
    """Calls that all return, but are too many for the limit: GC192, and the checks that were finished are kept."""
    make_op(here, "slow", bad_kernel("import time", "time.sleep(0.3)"))
    outcome = run_targets(["slow"], RunOptions(QUICK.check, timeout=2))
    (op,) = outcome.report.ops
    (finding,) = op.findings
    assert (op.status.value, finding.code) == ("error", "GC192")
    assert "every call returned" in finding.message
    assert {item.code for item in op.checks} > {"GC180", "GC192"}


@pytest.mark.parametrize(("inner", "line"), [("", None), ('  File "/w/mine.py", line 3 in forward\n', 3)])
def test_what_started_opkit_is_no_place_of_a_timeout(inner: str, line: int | None) -> None:
    """The user's own line, if he is in a call, or none: beneath opkit's code lies a start script."""
    ours = f'  File "{blame.__file__}", line 5 in check\n'
    trace = f'Current thread 0x1 (most recent call first):\n{inner}{ours}  File "/w/bin/opkit", line 8 in <module>\n'
    found = blame.blame_death(Ended(Death.TIMEOUT, 9, FlightReading(Phase.CHECKING, 1, 0.0, 0, 1.0), trace, "", 60.0), "60 s")
    assert (found.where.line if found.where else None) == line


@pytest.mark.parametrize("where", ["forward", "backward"])
def test_running_out_of_memory_is_a_finding(here: Path, where: str) -> None:
    """An op that keeps taking memory is told as a whole, with the call's inputs; the machine is safe."""
    kernel = SQUARE.replace("import numpy as np", "import numpy as np\n\nKEPT = []")
    old = "return x * x" if where == "forward" else "return 2 * x * dy"
    make_op(here, "hungry", kernel.replace(old, f"KEPT.append(np.empty(10_000_000))\n    {old}"))
    outcome = run_targets(["hungry"], RunOptions(QUICK.check, timeout=20, memory=1000))
    (finding,) = outcome.report.ops[0].findings
    assert (finding.code, finding.status.value) == ("GC194", "error")
    assert finding.where.file == "hungry/hungry_py_kernel.py"
    assert finding.evidence.case.inputs["x"] is not None


def test_one_allocation_that_is_too_large_is_the_ops_own_affair(here: Path) -> None:
    """An op that cannot serve its largest inputs within the limit is checked on the others."""
    make_op(here, "outer", SQUARE.replace("return x * x", "np.empty((x.size, x.size, 1000))\n    return x * x"))
    assert run_targets(["outer"], RunOptions(QUICK.check, timeout=20, memory=1000)).report.status.value == "pass"


def test_a_file_that_hangs_while_loading_is_told(here: Path) -> None:
    """An import that does not end is ended at the limit; the next op is checked."""
    make_op(here, "a_hangs", "while True:\n    pass\n")
    make_op(here, "b_good")
    outcome = run_targets(["a_hangs", "b_good"], RunOptions(QUICK.check, timeout=3, jobs=1))
    first, second = outcome.report.ops
    assert (first.op, first.findings[0].code) == ("a_hangs", "GC192")
    assert second.status.value == "pass"


def test_results_do_not_depend_on_the_number_of_jobs(here: Path) -> None:
    """One job and three jobs print the same, times aside: no limit is set that a busy machine would reach."""
    unlimited = Options(seconds=math.inf)
    for name in ("one", "two", "three"):
        make_op(here, name, SQUARE.replace("2 * x", "2.001 * x") if name == "two" else SQUARE)
    found = []
    for jobs in (1, 3):
        options = RunOptions(unlimited, jobs=jobs, timeout=0, replay=False)
        data = run_targets(["."], options).report.to_json()
        for op in data["ops"]:
            op["seconds"] = 0
        found.append(data)
    assert found[0] == found[1]


def test_a_users_folder_is_left_as_it_was(here: Path) -> None:
    """Nothing is written beside the user's files, not even bytecode."""
    make_op(here, "one", SQUARE.replace("2 * x", "3 * x"))
    before = sorted(path for path in here.rglob("*"))
    run_targets(["one"], QUICK)
    assert sorted(path for path in here.rglob("*")) == before


def test_an_interrupted_run_keeps_what_was_done(here: Path) -> None:
    """Ctrl-C gives the finished ops and status 130, and no worker is left behind."""
    make_op(here, "a_good")
    for name in ("b_hangs", "c_hangs"):
        make_op(here, name, bad_kernel("", "open(__file__ + '.hangs', 'w').close()\n    while True: pass"))
    script = (
        "import sys\n"
        "from opkit.verify import RunOptions, run_targets\n"
        "outcome = run_targets(['.'], RunOptions(timeout=60, jobs=2))\n"
        "print([op.op for op in outcome.report.ops], outcome.exit_status(), flush=True)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script],
        cwd=here,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": ":".join(sys.path)},
    )
    last = here / "c_hangs" / "c_hangs_py_kernel.py.hangs"  # which begins where the good one has ended
    until = time.monotonic() + 40
    while not last.exists() and time.monotonic() < until:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=20)
    assert out.strip() == "['a_good_forward'] 130"


def test_a_terminated_run_keeps_what_was_done(here: Path) -> None:
    """SIGTERM gives the report of the finished ops on the command line, and status 143."""
    make_op(here, "a_good")
    make_op(here, "b_hangs", bad_kernel("", "open('hangs', 'w').close()\n    while True: pass"))
    process = subprocess.Popen(
        [sys.executable, "-m", "opkit", "gradcheck", "--no-replay", "-j1", "--timeout", "60"],
        cwd=here,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": ":".join(sys.path)},
    )
    until = time.monotonic() + 40
    while not (here / "hangs").exists() and time.monotonic() < until:
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    out, _ = process.communicate(timeout=20)
    assert process.returncode == 143
    assert "a_good_forward" in out


def test_a_former_failure_is_tried_first_and_forgotten_when_gone(here: Path) -> None:
    """A failure is remembered, and gone once the op is right again."""
    wrong = SQUARE.replace("2 * x", "np.where(x > 0, 2.5, 2) * x")
    make_op(here, "one", wrong)
    first = run_targets(["one"], QUICK)
    assert first.saved
    (folder,) = FailureStore().folder.iterdir()
    assert list(folder.glob("*.npz"))
    again = run_targets(["one"], QUICK)
    assert again.saved == first.saved
    (here / "one" / "one_py_kernel.py").write_text(SQUARE)
    assert run_targets(["one"], QUICK).report.status.value == "pass"
    assert not list(folder.glob("*.npz"))


def test_a_kernel_file_with_threads_is_checked(here: Path) -> None:
    """A target whose files start threads is checked in its worker, not forked with its threads."""
    thread = "import threading, time\nthreading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n"
    make_op(here, "one", thread + SQUARE)
    assert run_targets(["one"], QUICK).report.status.value == "pass"


def test_the_death_of_the_workers_parent_is_told(here: Path) -> None:
    """An op that kills the process above its worker leaves a report, not silence."""
    line = "os.kill(int(open(f'/proc/{os.getppid()}/stat').read().rpartition(')')[2].split()[1]), 9)"
    make_op(here, "kills", bad_kernel("import os", line))
    (op,) = run_targets(["kills"], QUICK).report.ops
    assert op.status.value == "error"


def test_a_failure_of_the_checker_itself_is_told_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    """What opkit's own code raises accuses no op."""
    from opkit.verify.isolation.flight import Flight
    from opkit.verify.subjects.pair import pair
    from opkit.verify.workers import one_op

    def broken(checkable: object, options: object, tell: object, confirm: object) -> None:
        raise ZeroDivisionError("ours")

    monkeypatch.setattr(one_op, "check", broken)
    op = pair(np.sin, lambda x, dy: dy * np.cos(x), [np.ones(3)])
    (finding,) = one_op.check_alone(op, RunOptions(), Flight()).findings
    assert (finding.code, finding.status.value) == ("GC197", "error")
    assert "test_isolation.py" in finding.message


def test_a_failure_stays_one_where_what_follows_from_it_holds_functions_of_the_users() -> None:
    """A function that cannot be pickled, in the case of a finding that is folded under another, is left out."""
    from opkit.blind.frames import is_plain
    from opkit.checker import CheckResult, Evidence, OpReport, Status
    from opkit.checker.model.case import Case
    from opkit.verify.workers.one_op import sendable

    held = Evidence(Case({"x": np.ones(3)}, {"function": lambda x: x}))
    folded = CheckResult("jacobian", Status.FAIL, "GC101", "is wrong", evidence=held)
    finding = CheckResult("backward_raises", Status.FAIL, "GC181", "raised", evidence=held, consequences=(folded,))
    report = sendable(OpReport("op", (finding,)))
    (sent,) = report.findings
    assert (sent.code, [item.code for item in sent.consequences], is_plain(report)) == ("GC181", ["GC101"], True)


def test_every_code_of_isolation_has_a_page_and_a_number_of_its_own() -> None:
    """`opkit explain` knows them, and the checker uses none of them."""
    from opkit.checker import CODES as OTHERS
    from opkit.diagnostics import explain
    from opkit.verify.codes import CODES

    assert not set(CODES) & set(OTHERS)
    for code, row in CODES.items():
        assert explain(code).startswith(f"# {code}: {row.title}\n")


def test_the_report_of_deadly_ops_is_as_its_golden_file(outcome) -> None:
    """The text of a run over ops that die, times and ids masked; OPKIT_UPDATE_GOLDEN=1 writes it."""
    text = text_report(outcome, width=240).replace(os.path.dirname(outcome.report.ops[0].dir), "FOLDER")
    text = re.sub(r" +\d+\.\d\d s", " 0.00 s", re.sub(r"--repro [0-9a-f]{10}", "--repro ID", text))
    text = re.sub(r"FOLDER\S*/(\w+\.py)", r"FOLDER/\1", re.sub(r"\(\d+\.\d\d s, seed", "(0.00 s, seed", text))
    text = re.sub(r"\d+ checks hold on up to \d+ cases; would have seen .*", "N checks hold", text)
    text = re.sub(r"based on \d+ cases found by search \(.*?\)", "based on N cases", text)
    text = re.sub(r"(?m)^  note .*\n", "", text)  # a busy machine leaves cases out, and says so
    path = Path(__file__).parent / "golden" / "deadly.text"
    if os.environ.get("OPKIT_UPDATE_GOLDEN"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


def test_workers_have_one_thread_and_tritons_interpreter_where_there_is_no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """BLAS reads these names; who sets Triton's variable is heard."""
    monkeypatch.setattr(limits, "_GPUS", ("/nowhere",))
    found = limits.pinned({"OMP_NUM_THREADS": "8"})
    assert found["OMP_NUM_THREADS"] == found["OPENBLAS_NUM_THREADS"] == found["MKL_NUM_THREADS"] == "1"
    assert found["TRITON_INTERPRET"] == "1"
    assert limits.pinned({"TRITON_INTERPRET": "0"})["TRITON_INTERPRET"] == "0"
    monkeypatch.setattr(limits, "_GPUS", ("/",))
    assert "TRITON_INTERPRET" not in limits.pinned({})
