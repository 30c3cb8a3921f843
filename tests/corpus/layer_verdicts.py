"""What ``opkit gradcheck`` says of rows of the corpus: many in one file, one run per file.

Holds no row.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import opkit
from opkit.checker import OpReport, Status
from tests.corpus.func_model import Pair
from tests.corpus.func_model import as_script as as_funcs
from tests.corpus.layer_model import Layer, as_module, as_script
from tests.corpus.not_yet import MAY_BE_UNDECIDED, MAY_BE_UNDECIDED_NAMED

__all__ = ["ACCUSED", "BEYOND", "FORMS", "LINE", "STATE", "expected", "named", "recorded", "recorded_alone", "recorded_pairs", "verdict_of"]

#: Words for outcomes: a fault is found; a fault is found only beyond what a run was seen to do.
ACCUSED, BEYOND = "accused", "beyond"
#: Undecided for nothing but a gradient of another shape, which Paddle would use in silence (rule 4).
UNSERVED = "not served"
#: Passes with a line that says what is not served, or which input is a constant (rule 4).
LINE = "pass with a line"

#: Wrong on a kind of inputs that nothing declares and that forward takes: a failure to the letter of rule 3.
#: PermuteRows by rule 5: "Failures all the same: ... repeated places in a scatter"; GRUCell by rule 3: "Forward runs and
#: backward answers nowhere: failure"; CausalLinearAttention returns memory that it never wrote where v is longer than q;
#: DiagonalSSM adds one sum to each row of coefficients for each sample, QuadForm sums over another axis than it means of
#: four: "What backward answers in silence, it answers for" (rule 3).
LETTER = frozenset({"Hinge", "PositionAdd", "PickScore", "NllGather", "OverTemperature", "KlToNormal", "BilinearSample", "PermuteRows", "GRUCell", "CausalLinearAttention", "DiagonalSSM", "QuadForm"})

#: What a fault that is there only beyond what is declared comes to, by row and form, and the rule of DESIGN 3.1.
OPEN: Mapping[str, str] = {
    # "Misfits stand in the verdict's line. Where the target's own runtime raises, the line is enough" (rule 4).
    **dict.fromkeys(("SumKept script", "SumPositive script", "ProductOnes script", "ExpEmpty script", "ExpEmpty named"), LINE),
    **dict.fromkeys(("ProductOnes named",), LINE),
    # "... where it would use it in silence (Paddle), undecided" (rule 4).
    **dict.fromkeys((f"{name} {form}" for name in ("BiasMatrix", "RmsMatrix", "MatMulSqueezed", "TanhScalar") for form in ("named", "script")), UNSERVED),
    **dict.fromkeys(("PReluNoSum named", "BatchNormEvalBias named", "OuterSumSwap named", "TimesCalled named", "BiasAllSummed named", "BnEvalInv named"), UNSERVED),
    # "None for a float input counts as a constant, in the line" (rule 4); the other input's gradient has another shape.
    "ProductNone named": LINE,
    "BlendFrozen named": UNSERVED,
    # "right on a kind and wrong on a special kind of it" (rule 5): one column, a batch of one.
    **dict.fromkeys(("VarianceRow named", "LogSoftmaxBatch named"), BEYOND),
    # "wrong only outside a narrower class of values ... of inputs for which backward gives no gradient, or outside
    # symmetric or triangular values of an input that forward takes square only" (rule 5).
    **dict.fromkeys(("CosineMargin named", "LogDetT named", "TraceSymmetric named"), BEYOND),
    # docs/gradcheck-method.md, rule 5: "float32's rounding of a constant".
    "TanhThroughSingle named": BEYOND,
}

#: The two ways to hand a PyLayer to gradcheck.
FORMS = ("named", "script")

#: A state that is kept shows only when other values come: found on what was seen, or beyond it.
STATE = frozenset({"StaleMask", "Remembered", "g_relu_kept"})

#: Raise in backward for shapes that forward takes, and are right for others: without cases nothing says what is meant.
BROADCAST = frozenset({"ProductPlain", "ProductUnseen", "ProductOnes", "LayerScaleKeeps", "SnakeNoSum"})

#: Faults of an option to which the cases give one value only: cases are the domain, and the report says what never varied.
UNVARIED = frozenset({"DecayRate"})

#: Not finite at a point that the search alone came upon, where several elements leave forward without a derivative.
TIPS = frozenset({"NormAtZero"})

#: Errors that judge nothing: no case could be found or read, time ran out, the file or opkit broke.
_NOT_JUDGED = frozenset({"GC182", "GC183", "GC192", "GC195", "GC196", "GC197"})


def expected(row: Layer, form: str) -> frozenset[str]:
    """Return the verdicts that are right for a row: right ones whose forward takes too much, or guards, may be undecided."""
    if f"{row.name} {form}" in OPEN:
        return frozenset({OPEN[f"{row.name} {form}"]})
    if form == "named" and row.name in LETTER:
        return frozenset({ACCUSED})
    if not row.fault or (form == "named" and row.name in BROADCAST | TIPS):
        return _expected(row, form) | {UNSERVED, LINE}
    return _expected(row, form)


def _expected(row: Layer, form: str) -> frozenset[str]:
    if not row.fault:
        is_open = "guard" in row.tags.split() or row.name in (MAY_BE_UNDECIDED if form == "script" else MAY_BE_UNDECIDED_NAMED)
        return frozenset({"pass", BEYOND, "undecided"} if is_open else {"pass"})
    if row.name in UNVARIED:
        return frozenset({"pass"})
    if form == "script" and row.name in STATE:
        return frozenset({ACCUSED, BEYOND})
    if form == "named" and row.name in BROADCAST | TIPS:
        return frozenset({ACCUSED, BEYOND})
    return frozenset({BEYOND if form == "script" and row.beyond else ACCUSED})


def verdict_of(reports: Iterable[OpReport]) -> str:
    """Return "pass", "accused", "beyond", "undecided", "skip", "not judged (CODE)" or "missing"."""
    reports = list(reports)
    if not reports:
        return "missing"
    found = [item for report in reports for item in report.findings]
    if any(item.code not in _NOT_JUDGED for item in found):
        return ACCUSED
    if found:
        return f"not judged ({found[0].code})"
    open_ = [item for report in reports for item in report.checks if item.status is Status.UNDECIDED]
    if open_ and all(item.code == "GC142" and item.beyond for item in open_):
        return UNSERVED
    if any(item.to_json().get("beyond") for item in open_):
        return BEYOND
    word = Status.worst(report.status for report in reports).value
    lines = [note for report in reports for note in report.notes if "not served" in note or "counts as a constant" in note]
    return LINE if word == "pass" and lines else word


def _run(targets: list[str]) -> tuple[OpReport, ...]:
    return opkit.gradcheck(targets, jobs=1, timeout=20.0, replay=False).ops


def _by_name(rows: Iterable[Layer | Pair], reports: Iterable[OpReport]) -> Mapping[str, str]:
    found: dict[str, list[OpReport]] = {row.name: [] for row in rows}
    for report in reports:
        found.get(report.op.rpartition("::")[2].partition("#")[0], []).append(report)
    return {name: verdict_of(items) for name, items in found.items()}


def named(layers: Iterable[Layer], folder: Path) -> Mapping[str, str]:
    """Return the verdict of ``FILE.py::Name`` for each."""
    layers = list(layers)
    path = folder / "layers.py"
    path.write_text(as_module(layers, is_run=False))
    return _by_name(layers, _run([f"{path}::{layer.name}" for layer in layers]))


def recorded(layers: Iterable[Layer], folder: Path) -> Mapping[str, str]:
    """Return the verdict on each in a script that runs them all on their typical input."""
    layers = list(layers)
    path = folder / "script.py"
    path.write_text(as_module(layers))
    return _by_name(layers, _run([str(path)]))


def recorded_pairs(pairs: Iterable[Pair], folder: Path) -> Mapping[str, str]:
    """Return the verdict on each py_func of a script that runs them all."""
    pairs = list(pairs)
    path = folder / "funcs.py"
    path.write_text(as_funcs(pairs))
    return _by_name(pairs, _run([str(path)]))


def recorded_alone(layer: Layer, folder: Path) -> str:
    """Return the verdict of a script that runs nothing else."""
    path = folder / f"run_{layer.name}.py"
    path.write_text(as_script(layer))
    return _by_name([layer], _run([str(path)]))[layer.name]
