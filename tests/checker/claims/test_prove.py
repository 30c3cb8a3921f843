"""The prover on what is not a plain op: malformed signatures, state, several results, lists of inputs, no claims."""

from __future__ import annotations

from pathlib import Path

import pytest

from opkit.checker import CheckResult, OpReport, Options, Status
from opkit.checker.claims.candidates import Unclaimed
from opkit.checker.claims.engine import check_claims
from opkit.checker.claims.verdicts import suggestion
from opkit.checker.model.claim import Claims
from opkit.project.directory import op_directory_of
from opkit.project.loading import assemble
from opkit.sharding import Signature, split
from tests.corpus.loading import checkables_of
from tests.corpus.sbp.model import FLOATS, SAME_DTYPE, Op, proved
from tests.corpus.sbp.right import EACH, KEPT_2, RANK_2, ROWS


def only(report: OpReport) -> CheckResult:
    """The one finding of a report."""
    (finding,) = report.findings
    return finding


def test_a_missing_entry_is_named(tmp_path: Path) -> None:
    """A job stops where an argument has none."""
    claims = 'ctx->NewBuilder().Split(user_op::OpArg("x", 0), 0).Build();'
    finding = only(proved(Op("t", "return 2 * x", claims, shape=KEPT_2), tmp_path))
    assert finding.code == "SBP204"
    assert finding.message == "a signature has no entry for output 'y'"


def test_an_unknown_argument_is_named_at_its_call(tmp_path: Path) -> None:
    """With the place where it is named."""
    claims = """ctx->NewBuilder().Split(user_op::OpArg("x", 0), 0).Split(user_op::OpArg("y", 0), 0)
          .Split(user_op::OpArg("z", 0), 0).Build();"""
    finding = only(proved(Op("t", "return 2 * x", claims, shape=KEPT_2), tmp_path))
    assert finding.code == "SBP204"
    assert "names 'z', which is not an argument of t_forward" in finding.message
    assert finding.where is not None
    line = Path(finding.where.file).read_text().splitlines()[finding.where.line - 1]
    assert line[finding.where.col - 1 :].startswith('Split(user_op::OpArg("z"')


@pytest.mark.parametrize(("axis", "text"), [("2", "S(2), and it has 2 axes"), ("-1", "S(-1), and it has 2 axes")])
def test_an_axis_that_is_not_there(tmp_path: Path, axis: str, text: str) -> None:
    """Beyond the last, or negative."""
    finding = only(proved(Op("t", "return 2 * x", f"S{axis} -> S{axis}", shape=KEPT_2), tmp_path))
    assert finding.code == "SBP205"
    assert text in finding.message


def test_an_axis_of_the_result_that_is_not_there(tmp_path: Path) -> None:
    """A reduction has fewer axes than its input."""
    finding = only(proved(Op("t", "return x.sum(axis=1)", "S0 -> S1", shape=ROWS), tmp_path))
    assert finding.code == "SBP205"
    assert "gives 'y' S(1), and it has 1 axes" in finding.message


def test_a_function_for_signatures_that_fails(tmp_path: Path) -> None:
    """On a shape that the infer function takes."""
    claims = "const int64_t rows = first.At(1); CHECK_GT_OR_RETURN(rows, 0); ctx->NewBuilder().Split(ctx->inputs(), 0).Split(ctx->outputs(), 0).Build();"
    report = proved(Op("t", "return 2 * x", claims), tmp_path)
    assert "SBP207" in {item.code for item in report.findings}
    finding = next(item for item in report.findings if item.code == "SBP207")
    assert finding.where is not None
    assert "At(1)" in Path(finding.where.file).read_text().splitlines()[finding.where.line - 1]


@pytest.mark.parametrize(
    "kernel",
    [
        "forward.calls = getattr(forward, 'calls', 0) + 1\nreturn x * forward.calls",
        "return x + np.random.random(x.shape)",
        "kept = getattr(forward, 'kept', None)\nforward.kept = x.copy()\nreturn x if kept is None or kept.shape != x.shape else x + kept",
    ],
)
def test_a_kernel_with_state_is_not_cut(tmp_path: Path, kernel: str) -> None:
    """It is undecided, and the report says why."""
    report = proved(Op("t", kernel, EACH), tmp_path)
    assert report.status is Status.UNDECIDED
    assert {item.code for item in report.checks} == {"SBP220"}
    assert any("keeps state between calls" in note for note in report.notes)


def test_shards_that_the_definition_refuses_are_counted_and_do_not_refute(tmp_path: Path) -> None:
    """Rows must be even: a cut into odd ones is refused by the definition itself, so no job runs it."""
    shape = f'{RANK_2}CHECK_EQ_OR_RETURN(x.At(0) % 2, 0) << "even rows";\n*ctx->Shape4ArgNameAndIndex("y", 0) = x;'
    kernel = "return x * (1 - 2 * (np.arange(x.shape[0]) % 2))[:, None]"
    report = proved(Op("t", kernel, "S0 -> S0", shape=shape), tmp_path)
    (held,) = [item for item in report.checks if item.code == "SBP201"]
    assert held.status is Status.PASS
    assert "the definition refuses" in held.message
    assert "even rows" in held.message


def test_a_shape_function_for_the_whole_alone_refuses_no_shard(tmp_path: Path) -> None:
    """Where it is set for the logical shape only, shards are not shown to it: the same op is refuted."""
    shape = f'{RANK_2}CHECK_EQ_OR_RETURN(x.At(0) % 2, 0);\n*ctx->Shape4ArgNameAndIndex("y", 0) = x;'
    kernel = "return x * (1 - 2 * (np.arange(x.shape[0]) % 2))[:, None]"
    path = tmp_path / "t"
    proved(Op("t", kernel, "S0 -> S0", shape=shape), tmp_path)
    text = (path / "t_cpp_def.cpp").read_text()
    (path / "t_cpp_def.cpp").write_text(text.replace("SetTensorDescInferFn", "SetLogicalTensorDescInferFn"))
    (made,) = checkables_of(assemble(op_directory_of(path)))
    assert only(check_claims(made, Options())).code == "SBP201"


def test_an_op_without_claims_passes_with_a_note(tmp_path: Path) -> None:
    """And hears what it could claim."""
    report = proved(Op("t", "return 2 * x", "", shape=KEPT_2), tmp_path)
    assert report.status is Status.PASS
    assert any("claims no signature" in note for note in report.notes)
    assert sum(item.code == "SBP210" for item in report.checks) == 3


LISTS = """#include "oneflow/core/framework/framework.h"
namespace oneflow {
REGISTER_USER_OP("t_forward")
    .InputWithMinimum("in", 2)
    .Output("y")
    .Output("z")
    .Attr<std::string>("device_sub_tag", "py")
    .SetTensorDescInferFn([](user_op::InferContext* ctx) -> Maybe<void> {
      const Shape& first = *ctx->Shape4ArgNameAndIndex("in", 0);
      CHECK_EQ_OR_RETURN(first.NumAxes(), 2);
      int64_t columns = 0;
      for (const auto& pair : ctx->inputs()) {
        const Shape& one = *ctx->Shape4ArgNameAndIndex(pair.first, pair.second);
        CHECK_EQ_OR_RETURN(one.NumAxes(), 2);
        CHECK_EQ_OR_RETURN(one.At(0), first.At(0));
        columns += one.At(1);
      }
      *ctx->Shape4ArgNameAndIndex("y", 0) = Shape({first.At(0), columns});
      *ctx->Shape4ArgNameAndIndex("z", 0) = Shape({first.At(0)});
      return Maybe<void>::Ok();
    })
    .SetGetSbpFn([](user_op::SbpContext* ctx) -> Maybe<void> {
      ctx->NewBuilder().Split(ctx->inputs(), 0).Split(ctx->outputs(), 0).Build();
      ctx->NewBuilder().PartialSum(ctx->inputs()).PartialSum(user_op::OpArg("y", 0)).PARTZ(user_op::OpArg("z", 0)).Build();
      return Maybe<void>::Ok();
    })
    .SetDataTypeInferFn([](user_op::InferContext* ctx) -> Maybe<void> {
      *ctx->Dtype4ArgNameAndIndex("y", 0) = *ctx->Dtype4ArgNameAndIndex("in", 0);
      *ctx->Dtype4ArgNameAndIndex("z", 0) = *ctx->Dtype4ArgNameAndIndex("in", 0);
      return Maybe<void>::Ok();
    });
}  // namespace oneflow
"""


@pytest.mark.parametrize(("part", "is_right"), [("PartialSum", True), ("Broadcast", False)])
def test_lists_of_inputs_and_two_results(tmp_path: Path, part: str, is_right: bool) -> None:
    """Each tensor of a list has its entry; one false entry of two refutes a signature."""
    path = tmp_path / "t"
    path.mkdir()
    (path / "t_cpp_def.cpp").write_text(LISTS.replace("PARTZ", part))
    kernel = "import numpy as np\n\n\ndef forward(args):\n    (xs,) = args\n    return np.concatenate(xs, 1), sum(x.sum(1) for x in xs)\n"
    (path / "t_py_kernel.py").write_text(kernel)
    (made,) = checkables_of(assemble(op_directory_of(path)))
    report = check_claims(made, Options())
    assert [item.output for item in report.findings] == ([] if is_right else ["z"])
    held = [item.message for item in report.checks if item.code == "SBP201" and item.status is Status.PASS]
    assert len(held) >= (2 if is_right else 1)


def test_the_same_seed_gives_the_same_report(tmp_path: Path) -> None:
    """Cases, cuts and partial sums follow from the seed."""
    op = Op("t", "return np.abs(x)", "each: Si -> Si\nP -> P", dtype=FLOATS + SAME_DTYPE)
    one, other = (proved(op, tmp_path / name, seed=3).to_json()["checks"] for name in ("a", "b"))
    for item in (*one, *other):
        item["where"] = None
    assert one == other


@pytest.mark.parametrize(("claims", "code"), [("S0 -> S0", None), ("S0 -> S0\nS1 -> S1", "SBP201")])
def test_large_cases_alone_are_cut_too(tmp_path: Path, claims: str, code: str | None) -> None:
    """A cases file may have nothing smaller."""
    kernel = "return x - x.mean(axis=1, keepdims=True)"
    cases = "yield {'x': rng.standard_normal((40, 900))}"
    report = proved(Op("t", kernel, claims, shape=KEPT_2, cases=cases), tmp_path)
    assert [item.code for item in report.findings] == ([] if code is None else [code])
    assert any(item.code == "SBP201" and item.status is Status.PASS for item in report.checks)


def test_one_case_of_one_shape_is_grown(tmp_path: Path) -> None:
    """A cases file with even sizes alone does not hide what uneven shards show."""
    kernel = "return x * (1 - 2 * (np.arange(x.shape[0]) % 2))[:, None]"
    cases = "yield {'x': rng.standard_normal((8, 4))}"
    assert only(proved(Op("t", kernel, "S0 -> S0", shape=KEPT_2, cases=cases), tmp_path)).code == "SBP201"


def test_an_op_without_results_to_compare_is_undecided(tmp_path: Path) -> None:
    """Nothing to cut is not a proof."""
    cases = "yield {'x': np.zeros((0, 3))}"
    kernel = "if x.size:\n    raise ValueError('only empty arrays')\nreturn x"
    report = proved(Op("t", kernel, "S0 -> S0", shape=KEPT_2, cases=cases), tmp_path)
    assert report.status is Status.UNDECIDED
    assert {item.code for item in report.checks} == {"SBP209"}


@pytest.mark.parametrize(
    ("ranks", "others", "expected"),
    [
        ([(2,)], [], ""),
        ([(2,), (3,)], [(0,), (1,)], "if ({x} >= 2) "),
        ([(3,), (4,)], [(2,), (5,)], "if ({x} == 3 || {x} == 4) "),
        ([(2, 1), (2, 2)], [(2, 3), (1, 1)], None),
        ([(2, 1)], [(2, 2), (1, 1)], None),
    ],
)
def test_a_line_never_claims_more_than_was_tried(ranks: list, others: list, expected: str | None) -> None:
    """Its condition is true for the numbers of axes with which it holds, and for none with which it was seen not to."""
    names = (("x", 0), ("w", 0))
    item = Unclaimed(
        Signature(((("x", 0), split(0)),), ((("y", 0), split(0)),)),
        tuple(tuple(zip(names, one)) for one in ranks),
        tuple(tuple(zip(names, one)) for one in others),
        9,
    )
    line = suggestion(Claims("t", lambda *_: (), ("x", "w"), ("y",)), item, "").hint
    guard = line.partition("ctx->NewBuilder")[0]
    axes = 'ctx->LogicalTensorDesc4InputArgNameAndIndex("{}", 0).shape().NumAxes()'
    if expected is not None:
        assert guard == expected.replace("{x}", axes.format("x"))
    for one in (*ranks, *others):
        code = guard.removeprefix("if ").strip() or "True"
        for name, rank in zip(("x", "w"), one):
            code = code.replace(axes.format(name), str(rank))
            code = code.replace(f'ctx->user_op_conf().has_input("{name}", 0)', "True")
        assert eval(code.replace("&&", "and").replace("||", "or")) == (one in ranks)
