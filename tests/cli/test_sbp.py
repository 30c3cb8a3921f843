"""``opkit sbp``: exit statuses, forms, isolation, and the sbp item of ``opkit test``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.test_commands import opkit
from tests.corpus.sbp.model import Op, written
from tests.corpus.sbp.right import EACH, KEPT_2
from tests.project.opdir import edit, write_op

FALSE = Op("wrong", "return x - x.mean(axis=1, keepdims=True)", "S0 -> S0\nS1 -> S1", shape=KEPT_2)
TRUE = Op("sine", "return np.sin(x)", EACH)
NONE = Op("plain", "return 2 * x", "", shape=KEPT_2)


def write(op: Op, folder: Path) -> Path:
    """Write an op directory that builds: with an API file."""
    path = written(op, folder)
    call = f'flow.user_op_builder("t").Op("{op.name}_forward").Input("x", [x]).Output("y").Build()'
    (path / f"{op.name}_py_api.py").write_text(
        f"import oneflow as flow\n\n\ndef {op.name}_forward(x):\n    return {call}.InferAndTryRun().SoleOutputBlob()\n"
    )
    return path


def test_a_false_claim_is_status_1_and_stands_beside_what_holds(tmp_path: Path) -> None:
    """Smallest case, place, expected and got, in JSON; the other op is not concerned."""
    write(FALSE, tmp_path)
    write(TRUE, tmp_path)
    ran = opkit(tmp_path, "sbp", "--format", "json")
    assert ran.returncode == 1, ran.stderr
    report = json.loads(ran.stdout)
    assert report["command"] == "sbp"
    good, bad = report["ops"]
    assert (good["op"], good["status"]) == ("sine_forward", "pass")
    assert (bad["op"], bad["status"]) == ("wrong_forward", "fail")
    (finding,) = [item for item in bad["checks"] if item["status"] == "fail"]
    assert finding["code"] == "SBP201"
    assert finding["message"].startswith("S(1) -> S(1) does not hold on 2 devices")
    assert finding["where"]["file"] == "wrong/wrong_cpp_def.cpp"
    line = (tmp_path / "wrong/wrong_cpp_def.cpp").read_text().splitlines()[finding["where"]["line"] - 1]
    assert line[finding["where"]["col"] - 1 :].startswith('Split(user_op::OpArg("x", 0), 1)')
    assert finding["case"]["devices"] == 2
    assert finding["case"]["x"]["shape"][1] >= 2
    assert isinstance(finding["expected"], float)
    assert finding["expected"] != finding["actual"]


def test_all_that_is_claimed_holds(tmp_path: Path) -> None:
    """Status 0, and --verbose lists the signatures."""
    write(TRUE, tmp_path)
    ran = opkit(tmp_path, "sbp", "sine", "--verbose")
    assert ran.returncode == 0, ran.stdout
    assert "S(0) -> S(0) holds on" in " ".join(ran.stdout.split())


def test_no_claims_is_status_0_with_a_note_and_the_lines_to_add(tmp_path: Path) -> None:
    """A whole op on every device is right."""
    write(NONE, tmp_path)
    ran = opkit(tmp_path, "sbp")
    assert ran.returncode == 0, ran.stdout
    assert "claims no signature" in ran.stdout
    assert "could also be P -> P" in ran.stdout
    assert "PartialSum(user_op::OpArg" in ran.stdout


def test_no_op_is_status_5(tmp_path: Path) -> None:
    """An empty folder, and a script without ops of directories."""
    ran = opkit(tmp_path, "sbp")
    assert ran.returncode == 5
    assert "nothing to check was found" in ran.stderr
    assert ran.stderr.rstrip().endswith("name an op directory or a folder of them")


def test_definitions_with_errors_are_status_3(tmp_path: Path) -> None:
    """As for gradcheck."""
    path = write(TRUE, tmp_path)
    edit(path / "sine_cpp_def.cpp", ('.Output("y")', '.Outptu("y")'))
    assert opkit(tmp_path, "sbp").returncode == 3


def test_a_kernel_that_dies_costs_no_other_op(tmp_path: Path) -> None:
    """Each op has a process of its own."""
    write(Op("dead", "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)", EACH), tmp_path)
    write(TRUE, tmp_path)
    ran = opkit(tmp_path, "sbp", "--format", "json", "-j", "1")
    assert ran.returncode == 1
    dead, sine = json.loads(ran.stdout)["ops"]
    assert [item["code"] for item in dead["checks"]] == ["GC191"]
    assert sine["status"] == "pass"


def test_a_code_of_another_command_is_refused(tmp_path: Path) -> None:
    """Sbp has its own family."""
    ran = opkit(tmp_path, "sbp", "--select", "GC101")
    assert ran.returncode == 2
    assert "sbp has no check 'GC101'" in ran.stderr


@pytest.mark.parametrize(("op", "status"), [(FALSE, 1), (TRUE, 0), (NONE, 0)])
def test_the_item_of_opkit_test(tmp_path: Path, op: Op, status: int) -> None:
    """An op that makes claims has an sbp item, which fails where one is false; others have none."""
    write(op, tmp_path)
    ran = opkit(tmp_path, "test", "--", "-v", "-k", "sbp or build")
    assert ran.returncode == status, ran.stdout
    item = f"{op.name}/{op.name}_cpp_def.cpp::sbp"
    if op is NONE:
        assert item not in ran.stdout
    else:
        assert f"{item} {'FAILED' if status else 'PASSED'}" in ran.stdout
    assert ("FAIL SBP201" in ran.stdout) == bool(status)


def test_what_opkit_new_writes_claims_nothing_false(tmp_path: Path) -> None:
    """Each kind's definitions are proved."""
    kinds = ("elementwise", "binary", "reduction", "matmul", "loss")
    for kind in kinds:
        write_op(tmp_path, kind, kind)
    ran = opkit(tmp_path, "sbp")
    assert ran.returncode == 0, ran.stdout
    assert f"{len(kinds)} ops: {len(kinds)} pass" in ran.stdout


def test_of_a_folder_op_directories_alone_are_taken(tmp_path: Path) -> None:
    """A file of functions claims nothing about devices: it is neither loaded nor an error."""
    write(TRUE, tmp_path)
    (tmp_path / "check_a.py").write_text("import torch\n\n\nclass A(torch.autograd.Function):\n    pass\n")
    ran = opkit(tmp_path, "sbp")
    assert (ran.returncode, "check_a" in ran.stdout) == (0, False)


def test_an_offer_is_shown_once(tmp_path: Path) -> None:
    """Verbose, too, where all are shown."""
    said = opkit(write_op(tmp_path, "one", grad=True).parent, "sbp", "--verbose").stdout.splitlines()
    assert sum("one_backward: could also be B, P -> P" in line for line in said) == 1


def test_few_signatures_are_offered_each_call_on_its_line(tmp_path: Path) -> None:
    """The others are counted; --verbose has their statements too."""
    lines = opkit(write_op(tmp_path, "one", grad=True).parent, "sbp").stdout.splitlines()
    assert sum("could also be" in line for line in lines) <= 4
    at = next(number for number, line in enumerate(lines) if "could also be" in line)
    statement = "".join(line.strip() for line in lines[at + 1 : lines.index("      .Build();", at) + 1])
    assert statement.endswith(".Build();")
