"""Every diagnostic code, with the exact place it points at: the text between the marks ⟦ and ⟧."""

from __future__ import annotations

from pathlib import Path

import pytest

from opkit.diagnostics import SourceText, codes, explain
from opkit.spec import compile_spec
from opkit.spec.findings import CODES
from tests.spec.texts import OK, SBP, SHAPE

UNCHANGED = ".SetTensorDescInferFn(user_op::TensorDescInferFnUtil::Unchanged)"
GRAD = """REGISTER_USER_OP("a").Input("in").Output("out").Output("mask")
    .SetTensorDescInferFn(user_op::TensorDescInferFnUtil::Unchanged);
REGISTER_USER_OP("a_grad").Input("dy").Output("dx").Output("extra")
    .SetTensorDescInferFn(user_op::TensorDescInferFnUtil::Unchanged);
"""


def op(body: str) -> str:
    """An op whose shape function has this body."""
    return f'REGISTER_USER_OP("a").Input("x").Output("y").Attr<float>("alpha")\n    .{SHAPE}\n{body}\n{OK};\n'


def grad(body: str) -> str:
    """A gradient registration of the older kind with this body."""
    head = 'REGISTER_USER_OP_GRAD("a").SetGenBackwardOpConfFn([](const user_op::UserOpWrapper& op, user_op::AddOpFn AddOp) {'
    return f"{GRAD}{head}\n{body}\n}});\n"


Y = '  *ctx->Shape4ArgNameAndIndex("y", 0) = *ctx->Shape4ArgNameAndIndex("x", 0);'
#: code: a spec that has it; the marks enclose what the finding's span covers.
CASES: dict[str, str] = {
    "SPEC002": "int a⟦\0⟧;",
    "SPEC003": 'REGISTER_USER_OP(⟦"a);⟧\n',
    "SPEC004": "REGISTER_USER_OP⟦@⟧;",
    "SPEC005": "#if 1\n#⟦elfi⟧\n#endif\n",
    "SPEC006": "#define TWO(a, b) a b\n⟦TWO⟧(1)\n",
    "SPEC007": "#define A B B B B B B B B\n#define B C C C C C C C C\n#define C D D D D D D D D\n#define D E E E E E E E E\n"
    "#define E F F F F F F F F\n#define F G G G G G G G G\n#define G 1 1 1 1 1 1 1 1\n⟦A⟧\n",
    "SPEC008": '#include ⟦"no_such_file.h"⟧\n',
    "SPEC010": op(Y.replace(");", "⟦)⟧") + "\n  return Maybe<void>::Ok();"),
    "SPEC011": "int a = " + "(" * 60 + "⟦(⟧1" + ")" * 61 + ";",
    "SPEC012": op("  ⟦goto⟧ end;"),
    "SPEC020": op('  *ctx->Shape4ArgNameAndIndex("y", 0) = ⟦shape_x⟧;'),
    "SPEC021": op('  *⟦ctx->Shape5ArgNameAndIndex⟧("y", 0) = Shape({1});').replace(
        "⟦ctx->Shape5ArgNameAndIndex⟧", "ctx->⟦Shape5ArgNameAndIndex⟧"
    ),
    "SPEC022": op('  *⟦ctx->Shape4ArgNameAndIndex("y")⟧ = Shape({1});'),
    "SPEC023": op('  int64_t n = ⟦*ctx->Shape4ArgNameAndIndex("x", 0)⟧;'),
    "SPEC024": op(f"  int64_t n;\n{Y}\n  CHECK_GT_OR_RETURN(⟦n⟧, 1);"),
    "SPEC026": f'REGISTER_USER_OP("a").Input("x").Output("y").{SHAPE}\n{Y}\n⟦}}⟧);\n',
    "SPEC027": op(f"{Y}\n  const int64_t n = 1;\n  ⟦n⟧ = 2;"),
    "SPEC030": f'REGISTER_USER_OP("a").⟦Inputs⟧("x").Output("y"){UNCHANGED};',
    "SPEC031": f'REGISTER_USER_OP("a").Input("x").Output("y"){UNCHANGED};\nREGISTER_USER_OP(⟦"a"⟧).Input("x").Output("y"){UNCHANGED};',
    "SPEC032": f'REGISTER_USER_OP("a").Input("x").Output(⟦"x"⟧){UNCHANGED};',
    "SPEC033": 'REGISTER_USER_OP(⟦"a"⟧).Input("x").Output("y");',
    "SPEC034": f'REGISTER_USER_OP("a").Input("x").Output("y").⟦Attr<size_t>⟧("n"){UNCHANGED};',
    "SPEC035": f'REGISTER_USER_OP("a").Input("x").Output("y").Attr<float>("n", ⟦"one"⟧){UNCHANGED};',
    "SPEC036": f'std::string Name() {{ return "a"; }}\nREGISTER_USER_OP(⟦Name()⟧).Input("x").Output("y"){UNCHANGED};',
    "SPEC038": f'REGISTER_USER_OP("a").Input("x").Output("y"){UNCHANGED}\n    .⟦SetTensorDescInferFn⟧(user_op::TensorDescInferFnUtil::Unchanged);',
    "SPEC039": f'REGISTER_USER_OP("a").Input("x").Output("y"){UNCHANGED};\nREGISTER_USER_OP_GRAD(⟦"a"⟧);',
    "SPEC040": op(f'{Y}\n  *ctx->Shape4ArgNameAndIndex(⟦"yy"⟧, 0) = Shape({{1}});'),
    "SPEC041": op(f'{Y}\n  const float beta = ctx->Attr<float>(⟦"beta"⟧);'),
    "SPEC042": op(f'{Y}\n  const double alpha = ctx->Attr<double>(⟦"alpha"⟧);'),
    "SPEC043": f'REGISTER_USER_OP("a").Input("x").Output("y").Output(⟦"z"⟧).{SHAPE}\n{Y}\n{OK};\n',
    "SPEC044": grad('  op.BindGradTensorWithOpInput(op.GetGradTensorWithOpOutput("out", 0), "in", 0);').replace(
        'GRAD("a")', 'GRAD(⟦"a"⟧)'
    ),
    "SPEC045": grad('  const auto n = op.GetGradTensorWithOpOutput("out", 0) + op.output("mask", 0);').replace(
        'GRAD("a")', 'GRAD(⟦"a"⟧)'
    ),
    "SPEC052": grad(
        '  user_op::UserOpConfWrapperBuilder builder(op.op_name() + "_g");\n'
        '  ⟦builder.Op("a_grad").Input("dy", op.GetGradTensorWithOpOutput("out", 0))\n'
        '      .Output("dx")⟧;\n  op.output("mask", 0);'
    ),
    "SPEC049": grad(
        '  user_op::UserOpConfWrapperBuilder builder(op.op_name() + "_g");\n'
        '  auto g = builder.Op(⟦"a_gard"⟧).Input("dy", op.GetGradTensorWithOpOutput("out", 0))\n'
        '      .Output("dx").Build();\n  AddOp(g);\n'
        '  op.BindGradTensorWithOpInput(g.output("dx", 0), "in", 0);\n  op.output("mask", 0);'
    ),
    "SPEC051": grad(
        '  user_op::UserOpConfWrapperBuilder builder(op.op_name() + "_g");\n'
        '  auto g = builder.Op(⟦"a_grad"⟧).Output("dx").Output("extra").Build();\n  AddOp(g);\n'
        '  op.BindGradTensorWithOpInput(g.output("dx", 0), "in", 0);\n  g.output("extra", 0) + op.output("mask", 0);\n'
        '  op.GetGradTensorWithOpOutput("out", 0);'
    ),
    "SPEC046": grad(
        '  user_op::UserOpConfWrapperBuilder builder(op.op_name() + "_g");\n'
        '  auto g = builder.Op("a_grad").Input("dy", op.GetGradTensorWithOpOutput("out", 0))\n'
        '      .Output("dx").Output(⟦"extra"⟧).Build();\n  AddOp(g);\n'
        '  op.BindGradTensorWithOpInput(g.output("dx", 0), "in", 0);\n  op.output("mask", 0);'
    ),
    "SPEC047": op(f'{Y}\n  ⟦CHECK_LT_OR_RETURN(ctx->Shape4ArgNameAndIndex("x", 0)->NumAxes(), 0)⟧;'),
    "SPEC048": 'REGISTER_USER_OP_GRAD(⟦"other"⟧).SetGenBackwardOpConfFn([](const user_op::UserOpWrapper& op, user_op::AddOpFn AddOp) {});',
    "SPEC050": '⟦REGISTER_USER_KERNEL⟧("a").SetCreateFn<Kernel>();',
}


def unmarked(text: str) -> tuple[str, int, int]:
    """Return a text without its marks, and the offsets that they enclosed."""
    start = text.index("⟦")
    end = text.index("⟧") - 1
    return text.replace("⟦", "").replace("⟧", ""), start, end


@pytest.mark.parametrize("code", CASES)
def test_a_code_points_at_the_exact_place(code: str) -> None:
    """The finding covers what is wrong, from its first line and column to its last."""
    text, start, end = unmarked(CASES[code])
    source = SourceText(text, "a_cpp_def.cpp")
    result = compile_spec(source, known_ops=("relu",))
    hits = [item for item in result.diagnostics if item.code == code]
    assert hits, [f"{item.code} {item.span}: {item.message}" for item in result.diagnostics]
    span = hits[0].span
    assert span is not None
    wanted = source.span(start, end)
    assert (span.line, span.col, span.end_line, span.end_col) == (
        wanted.line,
        wanted.col,
        wanted.end_line,
        wanted.end_col,
    ), f"{span}: {span.text!r}"
    assert hits[0].severity is CODES[code][0]


@pytest.mark.parametrize("code", sorted(CASES))
def test_a_code_comes_alone(code: str) -> None:
    """One mistake gives one error: nothing else is an error in the text that shows it."""
    text, _, _ = unmarked(CASES[code])
    others = {
        item.code
        for item in compile_spec(SourceText(text, "a_cpp_def.cpp"), known_ops=("relu",)).diagnostics
        if item.is_error
    }
    assert others <= {code, "SPEC010"} if code in ("SPEC003", "SPEC004") else others <= {code}


def test_every_code_has_a_case() -> None:
    """No code of the compiler goes without a test of its place; SPEC001 has no place in a text."""
    assert set(CASES) | {"SPEC001"} == set(CODES)


def test_an_unreadable_spec_is_spec001(tmp_path: Path) -> None:
    """A folder, a missing file and a file that is too long are told apart from bad C++."""
    long = tmp_path / "long.cpp"
    long.write_bytes(b" " * 1_000_001)
    for path in (tmp_path, tmp_path / "none.cpp", long):
        (only,) = compile_spec(path).diagnostics
        assert only.code == "SPEC001"
        assert only.span is not None
        assert only.span.path == str(path)


@pytest.mark.parametrize("code", sorted(CODES))
def test_every_code_has_a_page(code: str) -> None:
    """`opkit explain CODE` shows a page whose title is the code's, with a wrong and a right example."""
    assert code in codes()
    page = explain(code)
    assert page.startswith(f"# {code}: {CODES[code][1]}\n")
    assert "## What to do" in page


def test_no_page_without_a_code() -> None:
    """A page of the compiler belongs to a code that it can give."""
    assert {code for code in codes() if code.startswith("SPEC")} == set(CODES)


def test_an_unused_sbp_name_warns_too() -> None:
    """Names are checked in sharding functions as in inference functions."""
    text = f'REGISTER_USER_OP("a").Input("x").Output("y"){UNCHANGED}\n    .{SBP}\n  ctx->NewBuilder().Split(user_op::OpArg("z", 0), 0).Build();\n{OK};'
    items = compile_spec(SourceText(text, "a.cpp")).diagnostics
    assert [(item.code, item.span.text, item.span.line) for item in items if item.span] == [("SPEC040", '"z"', 3)]


def _second_mark(text: str) -> tuple[int, str]:
    """Return the line of the second mark of the first finding that has one, and the text there."""
    note = next(note for item in compile_spec(SourceText(text, "a_cpp_def.cpp")).diagnostics for note in item.notes)
    assert note.span is not None
    return note.span.line, note.span.text


def test_an_unclosed_parenthesis_is_marked_where_it_opens() -> None:
    """The end of a registration is where it is noticed, the call that lacks its ) is the second mark."""
    assert _second_mark(f'REGISTER_USER_OP("a")\n.Input("x"\n.Output("y"){UNCHANGED};') == (2, "(")


def test_an_unclosed_brace_is_marked_where_it_opens() -> None:
    """A function without its } is noticed at the ) after it."""
    text = f'REGISTER_USER_OP("a").Input("x").Output("y")\n.{SHAPE}\n{Y}\n  return Maybe<void>::Ok();\n);\n'
    assert _second_mark(text) == (2, "{")


def test_of_several_braces_the_one_closed_by_another_indentation_is_marked() -> None:
    """The brace of a loop without its } takes that of the function around it."""
    text = f'REGISTER_USER_OP("a").Input("x").Output("y")\n.{SHAPE}\n  for (int i = 0; i < 3; ++i) {{\n{Y}\n{OK};\n'
    assert _second_mark(text) == (3, "{")


def test_a_gradient_is_not_called_stray_where_its_op_did_not_parse() -> None:
    """A registration with a mistake is none that is missing."""
    text = f'REGISTER_USER_OP("a").Input("x" "y"{UNCHANGED};\nREGISTER_USER_OP_GRAD("a").SetGenBackwardOpConfFn([](const user_op::UserOpWrapper& op, user_op::AddOpFn AddOp) {{}});\n'
    assert {item.code for item in compile_spec(SourceText(text, "a_cpp_def.cpp")).diagnostics} == {"SPEC010"}


def test_a_misspelt_setter_is_one_mistake() -> None:
    """The function that it would have set is not called missing."""
    text = f'REGISTER_USER_OP("a").Input("x").Output("y").SetTensorDescInferFunc{UNCHANGED[21:]};'
    assert [item.code for item in compile_spec(SourceText(text, "a_cpp_def.cpp")).diagnostics] == ["SPEC030"]


def test_an_attribute_with_a_bad_default_is_declared() -> None:
    """Who reads it is not wrong too."""
    text = op(f'{Y}\n  ctx->Attr<float>("alpha");').replace('("alpha")\n', '("alpha", "one")\n')
    assert [item.code for item in compile_spec(SourceText(text, "a_cpp_def.cpp")).diagnostics] == ["SPEC035"]


def test_a_registration_needs_its_semicolon() -> None:
    """C++ refuses it, and so does opkit; the registration is read all the same, so that nothing else is wrong."""
    text = f'REGISTER_USER_OP("a").Input("x").Output("y"){UNCHANGED}\nREGISTER_USER_OP("b").Input("x").Output("y"){UNCHANGED};'
    result = compile_spec(SourceText(text, "a_cpp_def.cpp"))
    assert [item.message for item in result.diagnostics] == ["expected ';' after ')'"]
    assert set(result.ops) == {"a", "b"}


def test_without_other_ops_a_backward_op_may_be_anyones() -> None:
    """OneFlow's specs use each other's ops: a spec that is compiled alone is not told what exists."""
    text, _, _ = unmarked(CASES["SPEC049"])
    assert "SPEC049" not in {item.code for item in compile_spec(SourceText(text, "a_cpp_def.cpp")).diagnostics}
