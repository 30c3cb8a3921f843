"""What fails near a recording says in what it differs from what was seen."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from opkit.checker import Arg, Attr, Case, Checkable, CheckResult, OpReport, Options, Status
from opkit.checker.model.report import Evidence
from opkit.checker.model.session import CheckSession
from opkit.checker.model.trial import Trial
from opkit.checker.verdict import beyond

SEEN = Case({"x": np.ones((3, 4))}, {}, origin="recorded")
OP = Checkable("f", (Arg("x"),), (Arg("y"),), lambda arrays, attrs: [arrays["x"]], attrs=(Attr("k", "any", 0.5),))


@pytest.mark.parametrize(("k", "shape", "told"), [(0.5, (2, 3, 4), "shapes [2, 3, 4]"), (2.0, (3, 4), "k = 2.0")])
def test_an_option_that_no_call_named_had_its_default(k: float, shape: tuple[int, ...], told: str) -> None:
    """Its default is no difference: the shapes are, and nothing is said of an option that backward may lack."""
    case = Case({"x": np.ones(shape)}, {"k": k})
    wrong = CheckResult("jacobian", Status.FAIL, "GC101", "wrong", evidence=Evidence(case=case))
    recorded = replace(OP, recorded=(SEEN,), beyond=replace(OP, seen=(SEEN,)))
    session = CheckSession(recorded, Options(), Trial(recorded), [SEEN])
    (found,) = beyond(session, lambda checkable, options: OpReport("f", (wrong,), unserved="not served: more"))
    assert session.notes == ["beyond the inputs seen, not served: more"]
    assert found.message == f"beyond the inputs seen ({told}): wrong"
    assert bool(found.hint) is (k != 0.5)
