"""The preprocessor: what macros become, and that every token keeps both its places."""

from __future__ import annotations

from pathlib import Path

import pytest

from opkit.diagnostics import SourceText
from opkit.spec import compile_spec
from opkit.spec.findings import Findings
from opkit.spec.text.preprocessor import preprocess
from tests.spec.texts import compiled, f32

UNCHANGED = ".SetTensorDescInferFn(user_op::TensorDescInferFnUtil::Unchanged)"


def expanded(text: str) -> str:
    """Return the tokens of a text after preprocessing, separated by spaces."""
    findings = Findings()
    tokens = preprocess(SourceText(text, "a.cpp"), (), findings)
    assert not findings.items, [item.message for item in findings.items]
    return " ".join(token.text for token in tokens[:-1])


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("#define N 3\nN + N", "3 + 3"),
        ("#define F(a, b) a##b\nF(x, 1)", "x1"),
        ("#define S(x) #x\nS(a  +  b)", '"a + b"'),
        ("#define S_(x) #x\n#define S(x) S_(x)\n#define N 3\nS(N) S_(N)", '"3" "N"'),
        ("#define F(a, ...) [a | __VA_ARGS__]\nF(1, 2, 3) F(1)", "[ 1 | 2 , 3 ] [ 1 | ]"),
        ("#define F(args...) (args)\nF(1, 2)", "( 1 , 2 )"),
        ("#define A B\n#define B A\nA B", "A B"),
        ("#define E()\nE() 1 E", "1 E"),
        ("#define M(a) \\\n  a + \\\n  1\nM(2)", "2 + 1"),
        ("#define N 1\n#undef N\nN", "N"),
        ("#if 1 + 1 == 2 && defined(N)\na\n#elif !defined(N) && (5 / 2 == 2)\nb\n#else\nc\n#endif", "b"),
        ("#ifdef WITH_CUDA\na\n#else\nb\n#endif", "b"),
        ("#if 0\n#if 1\na\n#else\nb\n#endif\n#endif\nc", "c"),
        ("a // b \\\n c\nd /* e\nf */ g", "a d g"),
        ("#define M(x) <x>\nOF_PP_FOR_EACH_TUPLE(M, OF_PP_MAKE_TUPLE_SEQ(1) OF_PP_MAKE_TUPLE_SEQ(2))", "< 1 > < 2 >"),
        (
            "#define M(a, b) a:b;\n#define SEQ OF_PP_MAKE_TUPLE_SEQ(x, 1) OF_PP_MAKE_TUPLE_SEQ(y, 2)\nOF_PP_FOR_EACH_TUPLE(M, SEQ)",
            "x : 1 ; y : 2 ;",
        ),
        ("#define M(t, d) t;\nOF_PP_FOR_EACH_TUPLE(M, FLOATING_DATA_TYPE_SEQ)", "float ; double ;"),
        ("OF_PP_STRINGIZE(b c)", '"b c"'),
    ],
)
def test_expansion(text: str, wanted: str) -> None:
    """Macros expand as in C++, and OneFlow's sequence macros as its headers define them."""
    assert expanded(text) == wanted


def test_a_token_knows_where_it_is_spelled_and_where_its_macro_is_invoked() -> None:
    """A finding in a macro's body points into the body and says which invocation it is about, once for all invocations."""
    text = (
        '#define OP(name) \\\n  REGISTER_USER_OP(name).Inputs("x").Output("y")' + UNCHANGED + ";\n\n"
        'OP("first")\nOP("second")\n'
    )
    (item,) = [item for item in compile_spec(SourceText(text, "a.cpp")).diagnostics if item.code == "SPEC030"]
    assert item.span is not None
    assert (item.span.line, item.span.col, item.span.text) == (2, 26, "Inputs")
    note = item.notes[0]
    assert note.span is not None
    assert (note.message, note.span.line, note.span.col) == ("in the expansion of 'OP'", 4, 1)


def test_names_of_ops_are_folded() -> None:
    """Adjacent literals and sums of std::string are constants."""
    text = f'#define OP(n) REGISTER_USER_OP((std::string("") + n + "_grad")).Input("x").Output("y"){UNCHANGED};\nOP("a" "b")'
    assert list(compiled(text).ops) == ["ab_grad"]


def test_includes_are_found_beside_the_spec_in_folders_and_above(tmp_path: Path) -> None:
    """Functions, macros and constants of a header are there; a header is read once."""
    (tmp_path / "ops" / "inner").mkdir(parents=True)
    (tmp_path / "extra").mkdir()
    (tmp_path / "ops" / "inner" / "beside.h").write_text("#pragma once\nconstexpr int64_t kBeside = 1;\n")
    (tmp_path / "extra" / "folder.h").write_text('#include "beside.h"\n#define FROM_FOLDER 10\n')
    (tmp_path / "ops" / "above.h").write_text("inline int64_t Above() { return 100; }\n")
    spec = tmp_path / "ops" / "inner" / "a.cpp"
    spec.write_text(
        '#include "beside.h"\n#include "folder.h"\n#include "ops/above.h"\n#include <vector>\n'
        '#include "oneflow/core/framework/framework.h"\n'
        'REGISTER_USER_OP("a").Output("y").SetTensorDescInferFn([](user_op::InferContext* ctx) -> Maybe<void> {\n'
        '  *ctx->Shape4ArgNameAndIndex("y", 0) = Shape({kBeside + FROM_FOLDER + Above()});\n'
        "  return Maybe<void>::Ok();\n});\n"
    )
    (tmp_path / "extra" / "beside.h").write_text("#error the wrong one\n")
    result = compile_spec(spec, include_dirs=[tmp_path / "extra"])
    assert [item.message for item in result.diagnostics] == ["#error the wrong one"]
    (tmp_path / "extra" / "beside.h").unlink()
    (tmp_path / "extra" / "folder.h").write_text("#define FROM_FOLDER 10\n")
    result = compile_spec(spec, include_dirs=[tmp_path / "extra"])
    assert result.diagnostics == ()
    assert result.ops["a"].infer({})["y"][0].shape == (111,)


def test_line_ends_and_byte_order_marks_mean_nothing(tmp_path: Path) -> None:
    """A file saved on Windows compiles, and its lines are counted as elsewhere."""
    text = f'REGISTER_USER_OP("a")\n    .Input("x")\n    .Output("y")\n    .Attr<size_t>("n")\n    {UNCHANGED};\n'
    path = tmp_path / "a.cpp"
    path.write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    (only,) = compile_spec(path).diagnostics
    assert only.span is not None
    assert (only.code, only.span.line, only.span.col) == ("SPEC034", 4, 6)


def test_a_spec_without_namespaces_compiles() -> None:
    """`namespace oneflow` is usual and not needed."""
    assert compiled(f'REGISTER_USER_OP("a").Input("x").Output("y"){UNCHANGED};').ops["a"].infer({"x": f32(2)}) == {
        "y": f32(2)
    }
