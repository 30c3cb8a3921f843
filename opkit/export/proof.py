"""The proof: an exported file run beside its framework, in a process of its own, against numpy's results.

What is compared is in ``provers``; here the process is run and its rows are read.

The verdict of opkit's own check of a gradient, without which an op does not leave.

It runs ``opkit gradcheck`` as a command in a process of its own, since what checks ops does not belong below export.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import os
import pickle
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from opkit.export.model import ExportOp
from opkit.export.signature import names_of
from opkit.record import record

#: The row of a proof that says what opkit's own check found.
GRADIENT = "opkit gradcheck"


def gradient_trouble(directory: str, ops: Sequence[str]) -> str:
    """Return why the gradients of some forward ops are not known to be right, "" where ``opkit gradcheck`` passes."""
    command = [sys.executable, "-m", "opkit", "gradcheck", directory, "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        found = json.loads(done.stdout)["ops"]
    except (ValueError, KeyError):
        said = done.stderr.strip().splitlines()
        return f"opkit gradcheck ended with status {done.returncode}: {said[-1] if said else 'no message'}"
    wrong = [item for item in found if item["op"] in ops and item["status"] not in ("pass", "skip")]
    return "; ".join(f"{item['op']}: {item['status']}{_first(item)}" for item in wrong)


def _first(item: dict[str, object]) -> str:
    checks = item.get("checks")
    for check in checks if isinstance(checks, list) else []:
        if check.get("status") == item["status"]:
            return f" ({check.get('code')}: {' '.join(str(check.get('message', '')).split())[:200]})"
    return ""


#: The oldest release of a framework whose names an exported file uses.
LEAST_VERSIONS = {"torch": "2.4", "jax": "0.4.34"}
_SECONDS = 30.0


@record
class ProofResult:
    """What a proof found.

    Args:
        framework: "torch" or "jax".
        version: the framework's, "" where it never ran.
        rows: (op, check, outcome, note); an outcome is "equal", "pass", "skip" or "FAIL".
    """

    framework: str
    version: str
    rows: tuple[tuple[str, str, str, str], ...]

    @property
    def is_proved(self) -> bool:
        """Whether values were compared and nothing failed."""
        outcomes = [row[2] for row in self.rows]
        return "equal" in outcomes and "FAIL" not in outcomes and "unverified" not in outcomes

    @property
    def table(self) -> str:
        """The rows as text, a line each."""
        width = max((len(row[1]) for row in self.rows), default=0)
        return "\n".join(
            f"{op}: {check:{width}}  {outcome:5}  {note}".rstrip() for op, check, outcome, note in self.rows
        )


def is_installed(framework: str) -> bool:
    """Return whether this Python has the framework; it is not imported."""
    return importlib.util.find_spec(framework) is not None


def too_old(framework: str) -> str:
    """Return why the installed framework is too old for an exported file, "" where it is not; it is not imported."""
    least = LEAST_VERSIONS[framework]
    found = importlib.metadata.version(framework)
    if _release(found) >= _release(least):
        return ""
    return f"{framework} {found} is too old: exported files need {least} at least; pip install -U 'opkit[{framework}]'"


def _release(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version.partition("+")[0])[:3])


def prove(
    ops: Sequence[ExportOp], framework: str, text: str, *, trouble: str = "", inductor: bool = True
) -> ProofResult:
    """Run an exported text against the examples of its ops.

    Args:
        ops: the ops with their examples.
        framework: "torch" or "jax"; where it is not installed the result says "unverified".
        text: the file's text.
        trouble: why the gradient is not known to be right, "" where opkit's own check passed, which then decides
            where the framework's coarser one cannot.
        inductor: also compile with torch's inductor, where a C++ compiler is.
    """
    if not is_installed(framework):
        note = f"{framework} is not installed: pip install 'opkit[{framework}]' (at least {LEAST_VERSIONS[framework]})"
        return ProofResult(framework, "", ((ops[0].name, "values", "unverified", note),))
    old = too_old(framework)
    if old:
        return ProofResult(framework, "", ((ops[0].name, "values", "unverified", old),))
    tasks = [task_of(op) | {"is_checked": not trouble, "inductor": inductor and has_compiler()} for op in ops]
    with tempfile.TemporaryDirectory(prefix="opkit-export-") as folder:
        file = Path(folder) / f"exported_{framework}.py"
        file.write_text(text, encoding="utf-8")
        data, report = Path(folder) / "task.pickle", Path(folder) / "report.json"
        data.write_bytes(pickle.dumps(tasks))
        found = _ran(ops[0], framework, [str(file), str(data), str(report)], report)
    rows = [(op.name, GRADIENT, "FAIL" if trouble else "pass", trouble) for op in ops if op.wirings]
    return ProofResult(framework, found.version, (*found.rows, *rows))


def has_compiler() -> bool:
    """Return whether there is a C++ compiler, which torch's inductor needs."""
    return shutil.which("g++") is not None


def task_of(op: ExportOp) -> dict[str, Any]:
    """Return what a prover is handed: the names of an op, its examples and what numpy gave for them."""
    safe = names_of(op.forward)
    return {
        "name": op.name,
        "type": op.forward.name,
        "attrs": [(spec.name, spec.type) for spec in op.forward.attrs],
        "exceptions": list(op.exceptions),
        "lists": [arg.name for arg in op.forward.inputs if op.forward.is_list(arg.name)],
        "seconds": _SECONDS,
        "refused": [
            {
                "inputs": dict(inputs),
                "attrs": {safe.get(name, name): value for name, value in attrs.items()},
                "label": label,
            }
            for inputs, attrs, label in op.refused
        ],
        "cases": [
            {
                "inputs": dict(item.inputs),
                "complete": {spec.name: item.attrs[spec.name] for spec in op.forward.attrs},
                # What equals its default is left out, so that the file's own defaults are proved too.
                "attrs": {
                    safe[spec.name]: item.attrs[spec.name]
                    for spec in op.forward.attrs
                    if item.attrs[spec.name] != spec.default
                },
                "outputs": list(item.outputs),
                "douts": list(item.douts),
                "grads": dict(item.grads),
                "label": item.label,
                "slack": dict(item.slack),
            }
            for item in op.examples
        ],
    }


def _ran(op: ExportOp, framework: str, args: Sequence[str], report: Path) -> ProofResult:
    root = str(Path(__file__).resolve().parents[2])
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH", "")]))}
    command = [sys.executable, "-W", "ignore", "-m", f"opkit.export.provers.{framework}_prover", *args]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10 * _SECONDS, env=env, check=False)
    except subprocess.TimeoutExpired:
        return ProofResult(framework, "", ((op.name, "values", "FAIL", f"no result within {10 * _SECONDS:g} s"),))
    if not report.is_file():
        said = done.stderr.strip().splitlines()
        note = f"the proof ended with status {done.returncode}: {said[-1] if said else 'no message'}"
        return ProofResult(framework, "", ((op.name, "values", "FAIL", note),))
    found = json.loads(report.read_text(encoding="utf-8"))
    rows = tuple((str(name), str(a), str(b), str(c)) for name, a, b, c in found["rows"])
    return ProofResult(framework, found["version"], rows)
