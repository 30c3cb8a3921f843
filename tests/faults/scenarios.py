"""What opkit saves, each as a scenario: its old state, its new one, and how to tell which is there."""

from __future__ import annotations

import json
import os
import shutil
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import opkit
import opkit.paddle as paddle
from opkit import project, static
from opkit.atomic import write_file, write_together
from opkit.checker import Case, CheckResult, OpReport, Status
from opkit.checker.model.report import Evidence
from opkit.cli import building
from opkit.cli.export import _write as write_exported
from opkit.export import Exported
from opkit.oneflow.semantics.checkpoint import read_checkpoint, write_checkpoint
from opkit.ops.core.profile import Profile
from opkit.project import Amendment, op_directory_of, scaffold, scaffold_workflow, scaffolding, workflow
from opkit.project.proofs import proved, remember_proofs
from opkit.verify.failures.store import FailureStore
from tests.faults.killing import Scenario

__all__ = ["SCENARIOS", "render_once", "saved", "scenario_net"]


def _one_of(found: Any, old: Any, new: Any) -> str:
    if found == new:
        return "new"
    assert found == old, f"neither old nor new: {found!r}"
    return "old"


# ---- checkpoints -----------------------------------------------------------------------------------------------------
def _checkpoint(number: int) -> Any:
    return lambda folder: write_checkpoint(folder / "ck", {"w": np.full(3, number), "b": np.full(2, number)})


def _checkpoint_state(folder: Path) -> str:
    if not (folder / "ck").exists() and not list(folder.glob(".ck.previous")):
        return "old"
    held = read_checkpoint(folder / "ck")
    return _one_of(
        {name: set(item.numpy().tolist()) for name, item in held.items()}, {"w": {1}, "b": {1}}, {"w": {2}, "b": {2}}
    )


# ---- paddle.save, static.save ----------------------------------------------------------------------------------------
def _state_dict(number: int) -> Any:
    return lambda folder: paddle.save(
        {"w": paddle.full([3], number), "b": paddle.full([2], number)}, folder / "a.pdparams"
    )


def _state_dict_state(folder: Path) -> str:
    held = paddle.load(str(folder / "a.pdparams"), return_numpy=True)
    return _one_of([float(held[name][0]) for name in ("w", "b")], [1, 1], [2, 2])


class _Net:
    """A small net with a parameter, its moments and a way to set all of them."""

    def __init__(self) -> None:
        with static.guard_names():
            self.main, startup = paddle.static.Program(), paddle.static.Program()
            with paddle.static.program_guard(self.main, startup):
                self.x = paddle.static.data("x", [None, 2], "float32")
                self.out = paddle.static.nn.fc(self.x, 1)
                self.scaled = {number: self.out * float(number) for number in (1, 2)}
                paddle.optimizer.Adam(0.1).minimize(paddle.mean(self.out))
            paddle.static.Executor().run(startup)

    def fill(self, number: int) -> None:
        state = self.main.state_dict()
        self.main.set_state_dict({name: np.full_like(array, number) for name, array in state.items()})


def scenario_net() -> _Net:
    """Return the one net of this process."""
    if not _nets:
        paddle.enable_static()
        _nets.append(_Net())
        paddle.disable_static()
    return _nets[0]


_nets: list[_Net] = []


def saved(number: int) -> Any:
    """Return what saves a net whose every value is a number."""

    def save(folder: Path) -> None:
        net = scenario_net()
        net.fill(number)
        paddle.static.save(net.main, str(folder / "net"))

    return save


def _saved_state(folder: Path) -> str:
    state = paddle.static.load_program_state(str(folder / "net"))
    return _one_of({float(array.ravel()[0]) for array in state.values()}, {1.0}, {2.0})


def _model(number: int) -> Any:
    def save(folder: Path) -> None:
        net = scenario_net()
        net.fill(number)
        paddle.static.save_inference_model(str(folder / "m"), [net.x], [net.scaled[number]], None)

    return save


def _model_state(folder: Path) -> str:
    scope = paddle.static.Scope()
    with paddle.static.scope_guard(scope):
        program, _, _ = paddle.static.load_inference_model(str(folder / "m"))
    numbers = {float(scope.find_var(item.name).array.ravel()[0]) for item in program.list_vars() if item.persistable}
    numbers.add(program.blocks[0].ops[-1].attrs["float_operand"])
    return _one_of(numbers, {1.0}, {2.0})


# ---- opkit new -------------------------------------------------------------------------------------------------------
def _texts(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): path.read_text()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not any(part.startswith(".") for part in path.relative_to(folder).parts)
    }


def _rendered(kind: str, top: Path) -> dict[str, str]:
    if kind not in _renderings:
        place = top / f".render-{kind}"
        scaffold("my_op", place, kind, job=True)
        _renderings[kind] = _texts(place)
        for path in sorted(place.rglob("*"), reverse=True):
            path.unlink() if path.is_file() else path.rmdir()
        place.rmdir()
    return _renderings[kind]


_renderings: dict[str, dict[str, str]] = {}


def _finished(folder: Path) -> dict[str, str]:
    """Return the files as the next run would find them, without being that run."""
    with TemporaryDirectory(dir=folder.parent) as place:
        twin = shutil.copytree(folder, Path(place, "twin"))
        write_together(twin, "nothing", {})
        return _texts(twin)


def _new_state(folder: Path) -> str:
    return _one_of(_finished(folder), {}, _rendered("elementwise", folder.parent))


def _new(folder: Path) -> None:
    scaffold("my_op", folder, job=True)


def _new_again(folder: Path) -> None:
    """Run it again, unless the killed run came to its end and all is there: then it is refused, as it should be."""
    if _texts(folder) != _rendered("elementwise", folder.parent) or (folder / ".my_op.opkit-save/.files").exists():
        scaffold("my_op", folder, job=True)
    else:
        write_together(folder, "nothing", {})


def _replace(folder: Path) -> None:
    scaffold("my_op", folder, "matmul", job=True, force=True)


def _replaced_state(folder: Path) -> str:
    found = _finished(folder)
    assert found.pop("my_op/notes.txt") == "mine"
    return _one_of(found, _rendered("elementwise", folder.parent), _rendered("matmul", folder.parent))


def _with_notes(folder: Path) -> None:
    scaffold("my_op", folder, "elementwise", job=True)
    (folder / "my_op" / "notes.txt").write_text("mine")


# ---- reports, profiles, failures -------------------------------------------------------------------------------------
def _report(text: str) -> Any:
    return lambda folder: write_file(folder / "report.html", text.encode() * 10_000)


def _report_state(folder: Path) -> str:
    return _one_of((folder / "report.html").read_text(), "old" * 10_000, "new" * 10_000)


def _trace(count: int) -> Any:
    profile = Profile()
    profile.events.extend([("op", 0.0, 1.0, 1, "")] * count)
    return lambda folder: profile.write_trace(folder / "trace.json")


def _trace_state(folder: Path) -> str:
    return _one_of(len(json.loads((folder / "trace.json").read_text())["traceEvents"]), 10, 20)


def _fix(text: str) -> Any:
    """Amend a definition as ``opkit build --fix`` does; what it lacks is given."""

    def act(folder: Path) -> None:
        (folder / "my_op").mkdir(exist_ok=True)
        directory = op_directory_of(folder / "my_op")
        project.amendment_of = lambda _: Amendment(directory, "", text * 1000, ())
        building.write_amendments([directory])

    return act


def _fix_state(folder: Path) -> str:
    return _one_of(_finished(folder / "my_op"), {"my_op_cpp_def.cpp": "old" * 1000}, {"my_op_cpp_def.cpp": "new" * 1000})


def _workflow(folder: Path) -> None:
    scaffold_workflow(folder, force=True)


def _workflow_state(folder: Path) -> str:
    found = _finished(folder / ".github" / "workflows") if (folder / ".github" / "workflows").exists() else {}
    return "new" if "opkit build" in found.get("opkit.yml", "") else _one_of(found, {}, None)


def _exported(text: str) -> Any:
    """Write an op and its test as ``opkit export`` does."""

    def act(folder: Path) -> None:
        made = Exported("my_op", text, "native", test=f"test of {text}")
        with redirect_stdout(StringIO()):
            write_exported(made, folder / "my_op.py", "torch", force=True)

    return act


def _exported_state(folder: Path) -> str:
    files = [{"my_op.py": text, "test_my_op.py": f"test of {text}"} for text in ("old", "new")]
    return _one_of(_finished(folder), *files)


def _proofs(count: int) -> Any:
    def act(folder: Path) -> None:
        (folder / "op").mkdir(exist_ok=True)
        os.environ["XDG_CACHE_HOME"] = str(folder / "cache")
        remember_proofs(folder / "op", [("op", "1", f"S({number}) -> S({number})") for number in range(count)])

    return act


def _proofs_state(folder: Path) -> str:
    os.environ["XDG_CACHE_HOME"] = str(folder / "cache")
    return _one_of(len(proved(folder / "op") or ()), 3, 9)


def _failures(*values: float) -> Any:
    """Remember one failure per value; those that are not among them are forgotten."""
    checks = [
        CheckResult(
            "gradient", Status.FAIL, "GC110", "wrong", input=f"x{index}", output="y",
            evidence=Evidence(case=Case({f"x{index}": np.full(3, value)}, {}, "normal", 0)),
        )
        for index, value in enumerate(values)
    ]  # fmt: skip
    return lambda folder: _store(folder).update(OpReport("op.py::f", tuple(checks)))


def _store(folder: Path) -> FailureStore:
    return FailureStore(str(folder / "cache"))


def _failures_state(folder: Path) -> str:
    """Each failure is old or new; the set of them is no unit, since each run finds them anew."""
    found = []
    for path in sorted((folder / "cache").rglob("*.npz")):
        case = _store(folder).find(path.stem).case
        (array,) = case.inputs.values()
        assert set(array.tolist()) in ({1.0}, {2.0})
        found.append(float(array[0]))
    return "new" if found == [2.0, 2.0] else "old"


def _scratch_is_gone(act: Any) -> Any:
    def check(folder: Path) -> None:
        act(folder)
        left = [path.name for path in folder.rglob(".opkit-*")]
        assert not left, left

    return check


def _nothing(folder: Path) -> None:
    os.stat(folder)


def render_once() -> None:
    """Render each kind of op once for all points: templates take longer than all that is tested here."""
    texts: dict[str, dict[str, str]] = {}
    render = scaffolding._render

    def rendered(name: str, kind: Any, attrs: Any, **flags: bool) -> dict[str, str]:
        if kind.name not in texts:
            texts[kind.name] = render(name, kind, attrs, **flags)
        return texts[kind.name]

    scaffolding._render = rendered
    workflow_text = workflow.rendered("ci/opkit.yml.jinja", {"version": opkit.__version__})
    workflow.rendered = lambda *_: workflow_text


SCENARIOS: dict[str, Scenario] = {
    "a first checkpoint": Scenario(_nothing, _checkpoint(2), _checkpoint_state, _checkpoint(2), ("ck",)),
    "a checkpoint": Scenario(_checkpoint(1), _checkpoint(2), _checkpoint_state, _checkpoint(2), ("ck",)),
    "paddle.save": Scenario(_state_dict(1), _state_dict(2), _state_dict_state, _state_dict(2), ("a.pdparams",)),
    "static.save": Scenario(saved(1), saved(2), _saved_state, saved(2), ("net.pdmodel", "net.pdopt", "net.pdparams")),
    "an inference model": Scenario(_model(1), _model(2), _model_state, _model(2), ("m.pdiparams", "m.pdmodel")),
    "opkit new": Scenario(_nothing, _new, _new_state, _new_again, ("job.py", "my_op")),
    "opkit new --force": Scenario(_with_notes, _replace, _replaced_state, _replace, ("job.py", "my_op")),
    "a report": Scenario(_report("old"), _report("new"), _report_state, _report("new"), ("report.html",)),
    "a profile": Scenario(_trace(10), _trace(20), _trace_state, _trace(20), ("trace.json",)),
    "opkit build --fix": Scenario(
        _fix("old"), _fix("new"), _fix_state, _scratch_is_gone(_fix("new")), ("my_op",)
    ),
    "opkit new --ci": Scenario(_nothing, _workflow, _workflow_state, _scratch_is_gone(_workflow), (".github",)),
    "opkit export": Scenario(
        _exported("old"), _exported("new"), _exported_state, _exported("new"), ("my_op.py", "test_my_op.py")
    ),
    "proofs of signatures": Scenario(
        _proofs(3), _proofs(9), _proofs_state, _scratch_is_gone(_proofs(9)), ("cache", "op")
    ),
    "remembered failures": Scenario(
        _failures(1, 1), _failures(2, 2), _failures_state, _scratch_is_gone(_failures(2, 2)), ("cache",)
    ),
}
