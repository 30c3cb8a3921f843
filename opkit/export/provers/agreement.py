"""Agreement of two results: the bound, and the rows of the table that a proof prints.

Knows numpy only; frameworks hand their results over as arrays.
"""

from __future__ import annotations

import json
import pickle
import sys
import time
from collections.abc import Callable
from dataclasses import field
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from opkit.record import mutable

#: {dtype: the largest difference, relative to the largest value of the result} that counts as equal.
BOUNDS = {"float64": 1e-10, "float32": 5e-5, "float16": 2e-2}


def bound_of(expected: np.ndarray) -> float:
    """Return how far a result may differ: its dtype's bound times its largest finite value, at least 1."""
    finite = expected[np.isfinite(expected)]
    largest = max(1.0, float(np.abs(finite).max(initial=0.0)))
    return BOUNDS.get(expected.dtype.name, 1e-10) * largest


def difference(found: np.ndarray, expected: np.ndarray, slack: float = 0.0) -> str:
    """Return what differs between two arrays, "" where they agree.

    NaN and infinities must stand in the same places; other values may differ by the dtype's bound times the largest
    finite value of the expected array (at least 1), or by 16 times ``slack``, the distance by which numpy's own result
    moves where the inputs move by their last bit, as far as that is within a thousand times the bound.
    """
    if found.shape != expected.shape:
        return f"shape {found.shape}, expected {expected.shape}"
    if found.dtype != expected.dtype:
        return f"dtype {found.dtype}, expected {expected.dtype}"
    if expected.dtype.kind not in "fc":
        return "" if np.array_equal(found, expected) else f"{int((found != expected).sum())} values differ"
    special = ~np.isfinite(expected)
    if not np.array_equal(found[special], expected[special], equal_nan=True) or not np.isfinite(found[~special]).all():
        return "NaN or infinities are in other positions"
    wide, ideal = found[~special].astype("float64"), expected[~special].astype("float64")
    if not ideal.size:
        return ""
    worst = float(np.abs(wide - ideal).max())
    bound = bound_of(expected)
    bound = max(bound, min(16 * slack, 1000 * bound))
    return "" if worst <= bound else f"differs by {worst:.3g}, bound {bound:.3g}"


@mutable
class Proof:
    """Rows (check, outcome, note) that a prover collects; an outcome is "equal", "pass", "skip" or "FAIL".

    Args:
        seconds: stop starting new checks after that many.
    """

    seconds: float = 30.0
    rows: list[tuple[str, str, str]] = field(default_factory=list)
    started: float = field(default_factory=time.perf_counter)

    def has_time(self) -> bool:
        """Return whether another check may begin."""
        return time.perf_counter() - self.started < self.seconds

    def check(self, name: str, run: Callable[[], str]) -> None:
        """Run a check; what it returns is a note, what it raises its failure."""
        if not self.has_time():
            self.rows.append((name, "skip", f"{self.seconds:g} s were over"))
            return
        try:
            self.rows.append((name, "pass", run()))
        except Exception as error:  # whatever the framework's checker raises is its finding
            self.rows.append((name, "FAIL", f"{type(error).__name__}: {str(error)[:600]}"))

    def compare(self, cases: list[dict[str, Any]], run: Callable[[dict[str, Any]], dict[str, np.ndarray]]) -> None:
        """Compare each case; ``run`` returns {"output 0": array, "gradient x": array}."""
        faults: list[str] = []
        done = 0
        for case in cases:
            if done and not self.has_time():
                break
            done += 1
            expected = {f"output {index}": item for index, item in enumerate(case["outputs"])}
            for name, given in case["grads"].items():
                if isinstance(given, list):
                    expected |= {f"gradient {name}[{index}]": item for index, item in enumerate(given)}
                else:
                    expected[f"gradient {name}"] = given
            try:
                found = run(case)
                for name, item in expected.items():
                    fault = difference(found[name], item, case["slack"].get(name, 0.0))
                    if fault:
                        faults.append(f"{case['label']}: {name}: {fault}")
            except Exception as error:
                faults.append(f"{case['label']}: {type(error).__name__}: {str(error)[:400]}")
        note = "; ".join(faults[:3]) if faults else f"{done} of {len(cases)} cases, outputs and gradients"
        self.rows.append(("values", "FAIL" if faults else "equal", note))


def refusals(refused: list[dict[str, Any]], run: Callable[[dict[str, Any]], Any]) -> str:
    """Check that a file refuses what the definition refuses; return how many inputs were tried.

    Raises:
        AssertionError: one is taken, or refused by the framework instead of by the definition's checks.
    """
    for case in refused:
        try:
            run(case)
        except (ValueError, IndexError, ZeroDivisionError):
            continue
        except Exception as error:
            raise AssertionError(f"{case['label']} is not refused by the file: {type(error).__name__}") from error
        raise AssertionError(f"{case['label']} is taken, which the definition refuses")
    return f"{len(refused)} inputs" if refused else "the definition refuses none that were tried"


def load_exported(path: str) -> ModuleType:
    """Run an exported file as a module of its own."""
    import importlib.util

    spec = importlib.util.spec_from_file_location(Path(path).stem, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} cannot be imported")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def run_prover(prove: Callable[[ModuleType, dict[str, Any], Proof], str]) -> None:
    """Read what is to be proved (file, data, where to report), prove it and write the rows as JSON."""
    file, data, report = sys.argv[1:4]
    with open(data, "rb") as stream:
        tasks = pickle.load(stream)
    rows: list[tuple[str, str, str, str]] = []
    version = ""
    try:
        module = load_exported(file)
    except Exception as error:
        rows.append((tasks[0]["name"], "import", "FAIL", f"{type(error).__name__}: {error}"))
    else:
        for task in tasks:
            proof = Proof(task["seconds"])
            version = prove(module, task, proof)
            rows += [(task["name"], *row) for row in proof.rows]
    Path(report).write_text(json.dumps({"version": version, "rows": rows}), encoding="utf-8")
