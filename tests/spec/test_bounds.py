"""Bounds: no spec can hang or use up the memory, in the preprocessor, in the compiler or in what it compiles.

Each case is what multiplies, the place of the finding and a part of its message.
"""

from __future__ import annotations

import pytest

from opkit.diagnostics import SourceText
from opkit.errors import InferError
from opkit.spec import CompileResult, compile_spec
from opkit.spec.lower import names
from opkit.spec.runtime import arithmetic
from opkit.spec.text import expansion, macros
from tests.spec.texts import compiled, f32, op

UNCHANGED = ".SetTensorDescInferFn(user_op::TensorDescInferFnUtil::Unchanged)"
FIB = "int64_t Fib(int64_t n) { if (n < 2) { return n; } return Fib(n - 1) + Fib(n - 2); }"
GRAD = (
    f'REGISTER_USER_OP("f").Input("x").Output("y"){UNCHANGED};\n'
    'REGISTER_USER_OP_GRAD("f").SetGenBackwardOpConfFn('
    "[](const user_op::UserOpWrapper& op, user_op::AddOpFn AddOp) {\n"
)


@pytest.fixture(autouse=True)
def small_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Smaller bounds, so that running into one takes no time; what runs into none never ends."""
    for module in (macros, expansion):
        monkeypatch.setattr(module, "MOST_TOKENS", 40_000)
    monkeypatch.setattr(expansion, "MOST_MADE", 400_000)
    monkeypatch.setattr(names, "MOST_LOWERED", 20_000)
    monkeypatch.setattr(arithmetic, "MOST_STEPS", 50_000)
    monkeypatch.setattr(arithmetic, "MOST_MOVED", 2_000_000)


def ladder(first: str, step: str, count: int = 40) -> str:
    """Lines that each use the one before: ``@`` is the number of a line and ``%`` the one before."""
    lines = [first] + [step.replace("@", str(n)).replace("%", str(n - 1)) for n in range(1, count + 1)]
    return "\n".join(lines) + "\n"


COMPILING: dict[str, tuple[str, str, str]] = {
    "pasted name": (
        ladder("#define L0(x) x##x", "#define L@(x) L%(x##x)", 30) + "int q = L30(a);",
        "32:9",
        "10,000 char",
    ),
    "string of a string": (
        ladder("#define S(x) #x\n#define L0(x) S(x)", "#define L@(x) L%(S(x))", 30) + 'const char* q = L30("\\"");',
        "33:17",
        "10,000 characters",
    ),
    "many long names": (
        "#define N " + "a" * 4000 + "\n#define C(x, y) x##y\n#define D(x) C(x, b)\n" + "D(N)\n" * 110,
        "103:1",
        "400,000 characters",
    ),
    "tokens": (ladder("#define L0(x) x x", "#define L@(x) L%(x x)", 30) + "int q = L30(a);", "32:9", "40,000 tokens"),
    "sequence of long calls": (
        "#define BIG " + "a " * 20000 + "\nOF_PP_FOR_EACH_TUPLE(BIG, " + "(1)" * 20000 + ")",
        "2:1",
        "40,000 tokens",
    ),
    "chain of macros": (ladder("#define A0 1", "#define A@ A% x", 1000) + "A1000", "1002:1", "500 times in a row"),
    "condition": (ladder("#define A0 1", "#define A@ A% + A%") + "#if A40\n#endif", "42:5", "40,000 tokens"),
    "type of pairs": (
        ladder("using A0 = int64_t;", "using A@ = std::pair<A%, A%>;") + op("  A40 s;"),
        "8:12",
        "more than 200 parts",
    ),
    "template of pairs": (
        "template<typename T> void F() { F<std::pair<T, T>>(); }\n" + op("  F<int64_t>();"),
        "1:33",
        "more than 200 parts",
    ),
    "constant": (
        ladder(f"{FIB}\nconst int64_t K0 = Fib(1);", "const int64_t K@ = Fib(K%) + Fib(K%);")
        + op("  int64_t n = K40;"),
        "",
        "20,000 expressions",
    ),
    "nested assignment": (
        op("  std::vector<int64_t> v(3, 0);\n  " + "v[" * 25 + "0" + "] = 0" * 25 + ";"),
        "",
        "20,000 expressions",
    ),
    "blobs": (
        op("").replace('.Output("y")', '.Output("y", 1000000000)'),
        "4:18",
        "0 to 10,000 blobs, not 1,000,000,000",
    ),
}


@pytest.mark.parametrize("case", COMPILING)
def test_what_multiplies_while_compiling(case: str) -> None:
    """A spec that multiplies itself is an error at the place that does so, after little time."""
    text, place, message = COMPILING[case]
    diagnostics = compile_spec(SourceText(text, "a.cpp")).diagnostics
    found = next((item for item in diagnostics if message in item.message), None)
    assert found is not None, [f"{item.span} {item.message}" for item in diagnostics]
    assert found.code == ("SPEC036" if case == "blobs" else "SPEC007")
    assert place in str(found.span)


def test_long_attr_chain_is_lowered_once() -> None:
    """Calls of a struct's own ``attr`` in a row are lowered once each."""
    compiled("struct S { S attr(int64_t n) { return *this; } };\n" + op("  S s; s" + ".attr(1)" * 45 + ";"))


RUNNING: dict[str, tuple[str, str, str]] = {
    "recursion": ("  int64_t n = Fib(60);", FIB, "1:1"),
    "chain of functions": (
        "  int64_t n = F40(1);",
        ladder("int64_t F0(int64_t n) { return n; }", "int64_t F@(int64_t n) { return F%(n) + F%(n); }"),
        "",
    ),
    "lambdas": (
        "  auto f0 = [](int64_t n) -> int64_t { return n; };\n"
        + ladder("", "  auto f@ = [&](int64_t n) -> int64_t { return f%(n) + f%(n); };")
        + "  int64_t n = f40(1);",
        "",
        "",
    ),
    "std::function that calls itself": (
        "  std::function<int64_t(int64_t)> f;\n"
        "  f = [&f](int64_t n) -> int64_t { return n < 2 ? n : f(n - 1) + f(n - 2); };\n  int64_t n = f(60);",
        "",
        "12:7",
    ),
    "method": (
        "  P p; int64_t n = p.Fib(60);",
        "struct P { int64_t Fib(int64_t n) { if (n < 2) { return n; } return Fib(n - 1) + Fib(n - 2); } };",
        "1:12",
    ),
    "struct of structs": (
        "  S40 s;",
        ladder("struct S0 { int64_t a; };", "struct S@ { S% a; S% b; };"),
        "",
    ),
    "loops over a vector": (
        "  std::vector<int64_t> v(30000, 1);\n  for (auto a : v) {\n  for (auto b : v) { for (auto c : v) {} } }",
        "",
        "13:3",
    ),
    "loops that change a vector": (
        "  std::vector<int64_t> v(30000, 1);\n  for (auto& a : v) {\n  for (auto& b : v) { a = 1; b = 1; } }",
        "",
        "13:3",
    ),
    "loops within their own bounds": (
        "  int64_t n = 0;\n"
        + "".join(f"  for (int64_t i{k} = 0; i{k} < 900; ++i{k}) {{\n" for k in range(4))
        + "n += 1;"
        + "}" * 4,
        "",
        "15:3",
    ),
    "sorting with a function": (
        "  std::vector<int64_t> v(30000, 1);\n  int64_t n = 0;\n"
        "  std::sort(v.begin(), v.end(), [&](int64_t a, int64_t b) { n += 1; return a + n % 7 < b + n % 5; });",
        "",
        "",
    ),
}
#: The place of the fault is marked with ``@``.
MOVING: dict[str, str] = {
    "copies": "std::vector<int64_t> @w = v;",
    "assignments": "@w = v;",
    "comparisons": "bool @x = v == w;",
    "fills": "std::vector<int64_t> @u(30000, 1);",
    "resizes": "@u.resize(30000); u.clear();",
    "insertions": "@v.insert(v.begin(), 1); v.erase(v.begin());",
    "sorts": "@std::sort(v.begin(), v.end());",
    "sums": "@n += std::accumulate(v.begin(), v.end(), 0);",
    "sets": "std::set<int64_t> @u(v.begin(), v.end());",
    "hash maps": "@m[i] = 1;",
    "copied maps": "std::map<int64_t, int64_t> @k = o;",
    "strings": "@t = s + s;",
    "strings with constants": '@t = s + "a";',
    "texts": "std::stringstream @r; r << s; t = r.str();",
    "structs": "P @u = p;",
    "parts of strings": "@t = s.substr(1);",
    "searches": '@n += s.find("b");',
}


def fault(result: CompileResult) -> InferError:
    """What stops the infer function of the op."""
    with pytest.raises(InferError) as raised:
        result.ops["t"].infer({"x": f32(2, 3)})
    return raised.value


@pytest.mark.parametrize("case", RUNNING)
def test_what_multiplies_while_running(case: str) -> None:
    """Calls and iterations of one run are counted together, however they are nested; the fault has its place."""
    body, before, place = RUNNING[case]
    error = fault(compiled(op(body, before=before)))
    assert "50,000 loop iterations and function calls" in str(error)
    assert place in str(error)


@pytest.mark.parametrize("case", MOVING)
def test_what_moves_too_much(case: str) -> None:
    """What containers and strings copy, compare, search and make is counted too; the fault has its place."""
    code = MOVING[case]
    body = f"""  std::vector<int64_t> v(30000, 1); std::vector<int64_t> w(30000, 1); std::vector<int64_t> u;
  HashMap<int64_t, int64_t> m; std::map<int64_t, int64_t> o; std::string s(40000, 65); std::string t;
  int64_t n = 0;
  P p; p.v = v;
  for (int64_t i = 0; i < 3000; ++i) {{ o[i] = 1; }}
  for (int64_t i = 0; i < 40000; ++i) {{
    {code.replace("@", "")}
  }}"""
    error = fault(compiled(op(body, before="struct P { std::vector<int64_t> v; };")))
    assert "2,000,000 elements are made, copied, compared or searched" in str(error)
    assert str(error.where) == f"a_cpp_def.cpp:17:{code.index('@') + 5}"


@pytest.mark.parametrize(
    "code", ['s = s + "' + "b" * 900 + '";', 's += "' + "b" * 900 + '";', 's.append("' + "b" * 900 + '");']
)
def test_strings_that_grow(code: str) -> None:
    """A string that grows by constants is bounded as any other."""
    body = f'  std::string s = ctx->Attr<std::string>("s");\n  for (int64_t i = 0; i < 40000; ++i) {{ {code} }}'
    assert "a string of more than 100,000 characters" in str(fault(compiled(op(body))))


@pytest.mark.parametrize("expression", ["1 << a * 100000000000", "a << a * 100", "a >> 64", "1 << -1"])
def test_shift_by_more_than_the_type_has(expression: str) -> None:
    """A shift by a count that the type does not have is a fault, not a number of a thousand digits."""
    body = f'  const int64_t a = ctx->Attr<int64_t>("a");\n  int64_t n = {expression};'
    error = fault(compiled(op(body)))
    assert "is shifted by 0 to" in str(error)
    assert "a_cpp_def.cpp:12:" in str(error)


def test_sbp_attribute_check_and_modifier_are_bounded() -> None:
    """Sharding and attribute-check functions have the bounds of infer functions."""
    sbp = ".SetGetSbpFn([](user_op::SbpContext* ctx) -> Maybe<void> { int64_t n = Fib(60); return Maybe<void>::Ok(); })"
    check = (
        ".SetCheckAttrFn([](const user_op::UserOpDefWrapper& d, const user_op::UserOpConfWrapper& c) -> Maybe<void> {"
        " int64_t n = Fib(60); return Maybe<void>::Ok(); })"
    )
    with pytest.raises(InferError, match="50,000"):
        compiled(op("", extra=sbp, before=FIB)).ops["t"].sbp_signatures({"x": f32(2, 3)}, {}, 2)
    assert "checking the attributes" in str(fault(compiled(op("", extra=check, before=FIB))))


@pytest.mark.parametrize(
    ("body", "before"),
    [
        (
            "R(op, 60);",
            "void R(const user_op::UserOpWrapper& op, int64_t n) { if (n > 0) { R(op, n - 1); R(op, n - 1); } }\n",
        ),
        (
            'for (int i = 0; i < 900000; ++i) { user_op::UserOpConfWrapperBuilder b("a");'
            ' auto c = b.Op("q").Input("x", op.input("x", 0)).Output("dx", 10000).Build(); AddOp(c); }',
            "",
        ),
        (
            'user_op::UserOpConfWrapperBuilder b("a");\n'
            'for (int i = 0; i < 90000; ++i) { b.Input("x", op.input("x", 0)); }\n'
            'auto c = b.Op("q").Output("dx", 10).Build();\nfor (int i = 0; i < 90000; ++i) { AddOp(c); }',
            "",
        ),
    ],
    ids=["recursion", "outputs", "inputs"],
)
def test_gradients_are_bounded(body: str, before: str) -> None:
    """Gradient functions are bounded in calls and in the blobs of the ops that they build."""
    result = compiled(before + GRAD + body + "\n});")
    with pytest.raises(InferError, match="more than"):
        result.grads["f"].build({"x": f32(2, 3)})


def test_attribute_check_of_backward_ops_counts_for_the_gradient() -> None:
    """Checks that run while a gradient is built do not begin the count anew."""
    check = (
        ".SetCheckAttrFn([](const user_op::UserOpDefWrapper& d, const user_op::UserOpConfWrapper& c) -> Maybe<void> {"
        " for (int i = 0; i < 15000; ++i) {} return Maybe<void>::Ok(); })"
    )
    text = f'REGISTER_USER_OP("q").Input("x").Output("dx"){UNCHANGED}{check};\n' + GRAD
    text += 'for (int i = 0; i < 5; ++i) { user_op::UserOpConfWrapperBuilder b("a");'
    text += ' auto c = b.Op("q").Input("x", op.input("x", 0)).Output("dx").Build(); AddOp(c); }\n});'
    with pytest.raises(InferError, match="50,000 loop iterations"):
        compiled(text).grads["f"].build({"x": f32(2, 3)})


def test_count_begins_with_each_call() -> None:
    """Many calls in a row do not use up one another's bounds."""
    entry = compiled(op("  int64_t n = 0;\n  for (int64_t i = 0; i < 20000; ++i) { n += i; }")).ops["t"]
    for _ in range(4):
        entry.infer({"x": f32(2, 3)})


def test_bounds_are_what_the_pages_say(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bounds outside of these tests."""
    monkeypatch.undo()
    assert (macros.MOST_TOKENS, expansion.MOST_MADE, names.MOST_LOWERED) == (400_000, 4_000_000, 500_000)
    assert (arithmetic.MOST_STEPS, arithmetic.MOST_MOVED, arithmetic.MOST_ELEMENTS) == (1_000_000, 20_000_000, 100_000)
