"""Any bytes give findings: no exception, no hang, bounded memory; at length by ``python -m tests.campaigns.fuzz``."""

from __future__ import annotations

import contextlib
import inspect
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from opkit.diagnostics import SourceText, render_text, to_json
from opkit.errors import OpkitError
from opkit.ir.desc import TensorDesc
from opkit.spec import CompileResult, compile_spec
from tests.spec import test_codes, test_grads, test_ops, test_semantics

SEEDS = [
    *(test_codes.unmarked(text)[0] for text in test_codes.CASES.values()),
    test_ops.CONCAT,
    test_ops.ATTRS,
    test_ops.SHARDED,
    test_grads.OLD,
    test_grads.NEW,
    test_semantics.HELPERS,
]


def refused_or_done(call: Callable[[], object]) -> None:
    """Call it; an error of opkit's own is an answer, and can be shown."""
    with contextlib.suppress(OpkitError):
        call()


def used(result: CompileResult) -> None:
    """Use a result in every way; only errors of opkit's own may come out."""
    render_text(result.diagnostics)
    for item in result.diagnostics:
        to_json(item)
    for op in result.ops.values():
        inputs = {spec.name: [TensorDesc((4, 6), "float32")] * min(max(spec.count, 1), 4) for spec in op.inputs}
        outputs = {spec.name: max(spec.count, 1) for spec in op.outputs if spec.is_variadic}
        refused_or_done(lambda: op.infer(inputs, {}, outputs))  # noqa: B023
        refused_or_done(lambda: op.sbp_signatures(inputs, {}, 2, outputs))  # noqa: B023
        if op.name in result.grads:
            refused_or_done(lambda: result.grads[op.name].build(inputs))  # noqa: B023
        op.python_source()


@given(st.text(max_size=300))
@settings(max_examples=60, deadline=None)
def test_any_text_compiles_to_findings(text: str) -> None:
    """No text raises."""
    used(compile_spec(SourceText(text, "any.cpp")))


@given(
    st.lists(
        st.sampled_from(
            [
                "REGISTER_USER_OP",
                "(",
                ")",
                '"a"',
                ".",
                "Input",
                "Attr",
                "<",
                ">",
                "int32_t",
                ";",
                "{",
                "}",
                "[]",
                "ctx",
                "->",
                "*",
                "&",
                "=",
                "return",
                "if",
                "for",
                "FOR_RANGE",
                ",",
                "1",
                "+",
                "::",
                "Maybe",
                "void",
                "auto",
                "const",
                "#define A A A\n",
                "\n#if 1\n",
                "\n#endif\n",
                "template",
                "struct",
                "std::vector",
                "Shape",
                "<<",
                "CHECK",
                "namespace",
                '"',
                "/*",
                "*/",
            ]
        ),
        max_size=60,
    )
)
@settings(max_examples=80, deadline=None)
def test_any_tokens_compile_to_findings(tokens: list[str]) -> None:
    """No sequence of the language's own words raises."""
    used(compile_spec(SourceText(" ".join(tokens), "any.cpp")))


@given(st.randoms(use_true_random=False), st.sampled_from(SEEDS))
@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_mutated_specs_compile_to_findings(rnd: random.Random, text: str) -> None:
    """Words exchanged, doubled and lost in real specs: nothing raises, and what still compiles runs or refuses."""
    words = _words(text)
    for _ in range(rnd.randrange(1, 6)):
        at, other = rnd.randrange(len(words)), rnd.randrange(len(words))
        kind = rnd.randrange(4)
        if kind == 0:
            words[at] = words[other]
        elif kind == 1:
            words[at], words[other] = words[other], words[at]
        elif kind == 2:
            words.insert(at, words[other])
        elif len(words) > 1:
            del words[at]
    used(compile_spec(SourceText("".join(words), "mutated.cpp")))


def _words(text: str) -> list[str]:
    words = [""]
    for char in text:
        if char.isalnum() == words[-1][-1:].isalnum() and char.isalnum():
            words[-1] += char
        else:
            words.append(char)
    return words


@given(st.binary(max_size=400))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes_compile_to_findings(tmp_path: Path, data: bytes) -> None:
    """No file raises, whatever its encoding."""
    path = tmp_path / "any.cpp"
    path.write_bytes(data)
    used(compile_spec(path))


LONG = 60_000
BOMBS: dict[str, str] = {
    "parentheses": "(" * LONG,
    "braces": "{" * LONG,
    "namespaces": "namespace a {" * 20_000,
    "template arguments": "a<" * LONG,
    "lambdas": 'REGISTER_USER_OP("a").SetGetSbpFn(' + "[](user_op::SbpContext* ctx) -> Maybe<void> {" * 5_000,
    "sums": "int x = " + "1+" * LONG + "1;",
    "signs": "int x = " + "-" * LONG + "1;",
    "chains": 'REGISTER_USER_OP("a")' + '.Input("x")' * 20_000 + ";",
    "else if": 'REGISTER_USER_OP("a").SetTensorDescInferFn([](user_op::InferContext* ctx) -> Maybe<void> {'
    + "if (1) {} else " * 9_000
    + "{} });",
    "doubling macros": "".join(f"#define A{i} A{i + 1} A{i + 1}\n" for i in range(40)) + "A0\n",
    "open macro calls": "#define F(x) F(x) F(x)\n" + "F(" * 60_000,
    "nested macro calls": "#define F(x) x x\n" + "F(" * 2_000 + "1" + ")" * 2_000,
    "sequence products": "#define S " + "(a)" * 2_000 + "\nOF_PP_SEQ_PRODUCT_FOR_EACH_TUPLE(M, S, S, S)\n",
    "conditions": "#if 1\n" * 60_000,
    "condition": "#if " + "(" * 60_000 + "\n#endif\n",
    "open comments": "/* " * LONG,
    "open strings": '"' * (LONG + 1),
    "open raw strings": 'R"(' * 60_000,
    "templates without end": "template<int N>\nint F() { return F<N + 1>(); }\n"
    + 'REGISTER_USER_OP("a").SetTensorDescInferFn([](user_op::InferContext* ctx) -> Maybe<void> { F<0>(); return Maybe<void>::Ok(); });',
    "aliases in a circle": "using A = std::vector<B>;\nusing B = A;\nint F(A a) { return 1; }\n"
    + 'REGISTER_USER_OP("a").SetTensorDescInferFn([](user_op::InferContext* ctx) -> Maybe<void> { A a; return Maybe<void>::Ok(); });',
    "constants in a circle": "const int a = b;\nconst int b = a;\n"
    + 'REGISTER_USER_OP("a").Input("x", b).SetTensorDescInferFn(F);',
    "registrations": 'REGISTER_USER_OP("a").Input("x");\n' * 3_000,
}


@pytest.mark.parametrize("name", BOMBS)
def test_bombs_end_soon(name: str) -> None:
    """What would take for ever is refused in seconds, with an error."""
    start = time.perf_counter()
    result = compile_spec(SourceText(BOMBS[name], "bomb.cpp"))
    assert time.perf_counter() - start < 20
    assert not result.ok


def test_an_include_of_itself_ends(tmp_path: Path) -> None:
    """A header that includes itself is read once; a chain of includes is bounded."""
    (tmp_path / "self.h").write_text('#include "self.h"\nconstexpr int kSelf = 1;\n')
    for number in range(30):
        (tmp_path / f"h{number}.h").write_text(f'#include "h{number + 1}.h"\n')
    spec = tmp_path / "a.cpp"
    spec.write_text('#include "self.h"\n')
    assert compile_spec(spec).diagnostics == ()
    spec.write_text('#include "h0.h"\n')
    assert [item.code for item in compile_spec(spec).diagnostics] == ["SPEC007"]


@pytest.mark.parametrize(
    "text",
    [
        # found by fuzzing: a parameter type that does not exist, used twice
        "int64_t F(Nope n, int64_t m) { return m; }\n"
        + test_ops.CONCAT.replace("out.Set(axis, size);", "F(1, 2); F(1, 2);"),
        # found by fuzzing: captures by value of variables whose address is taken
        test_semantics.op(
            "  int64_t n = 1;\n  int64_t* p = &n;\n  auto f = [=]() { return n + *p; };\n"
            '  *ctx->Shape4ArgNameAndIndex("y", 0) = Shape({f()});'
        ),
    ],
)
def test_what_fuzzing_found(text: str) -> None:
    """Inputs that once went wrong stay as tests."""
    used(compile_spec(SourceText(text, "found.cpp")))


def test_a_caller_deep_in_the_stack_gets_a_finding_too() -> None:
    """Where hardly any stack is left, compiling gives a finding, as everywhere."""
    text = test_ops.CONCAT
    seen = set()
    for left in range(20, 120, 4):
        # the bound of Python counts from here, so that only what compiling itself needs is short
        limit, depth = sys.getrecursionlimit(), len(inspect.stack(0))
        sys.setrecursionlimit(depth + left)
        try:
            result = compile_spec(SourceText(text, "a.cpp"))
        finally:
            sys.setrecursionlimit(limit)
        codes = {item.code for item in result.diagnostics}
        assert codes <= {"SPEC011"}
        seen.add(bool(codes))
    assert seen == {True, False}
