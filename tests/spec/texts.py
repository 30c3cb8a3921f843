"""Short ways to write specs in tests."""

from __future__ import annotations

from opkit.diagnostics import Diagnostic, SourceText
from opkit.ir.desc import TensorDesc
from opkit.spec import CompileResult, compile_spec

SHAPE = "SetTensorDescInferFn([](user_op::InferContext* ctx) -> Maybe<void> {"
SBP = "SetGetSbpFn([](user_op::SbpContext* ctx) -> Maybe<void> {"
OK = "  return Maybe<void>::Ok();\n})"


def f32(*shape: int) -> list[TensorDesc]:
    """One float32 tensor, as an input argument takes it."""
    return [TensorDesc(shape, "float32")]


def compiled(text: str, name: str = "a_cpp_def.cpp", **options: object) -> CompileResult:
    """Compile a text and fail on any error in it."""
    result = compile_spec(SourceText(text, name), **options)  # type: ignore[arg-type]
    errors = [f"{item.code} {item.span}: {item.message}" for item in result.diagnostics if item.is_error]
    assert not errors, errors
    return result


def found(text: str) -> tuple[Diagnostic, ...]:
    """Compile a text and return what was found."""
    return compile_spec(SourceText(text, "a_cpp_def.cpp")).diagnostics


def op(shape_body: str, extra: str = "", before: str = "", name: str = "t") -> str:
    """An op with input x, output y and integer attributes a and b; ``shape_body`` is its shape function's body."""
    return f"""{before}
REGISTER_USER_OP("{name}")
    .Input("x")
    .Output("y")
    .Attr<int64_t>("a", 7)
    .Attr<int64_t>("b", -2)
    .Attr<std::vector<int32_t>>("v", {{3, 1, 2}})
    .Attr<std::string>("s", "abc")
    {extra}
    .{SHAPE}
{shape_body}
{OK};
"""


def shape_of(
    expression: str,
    before: str = "",
    statements: str = "",
    attrs: dict[str, object] | None = None,
    shape: tuple[int, ...] = (2, 3),
) -> tuple[int, ...]:
    """Run C++: return the sizes of ``Shape({expression})`` as the output's shape."""
    body = f"""  const int64_t a = ctx->Attr<int64_t>("a");
  const int64_t b = ctx->Attr<int64_t>("b");
  const std::vector<int32_t>& v = ctx->Attr<std::vector<int32_t>>("v");
  const std::string& s = ctx->Attr<std::string>("s");
  const Shape& x = *ctx->Shape4ArgNameAndIndex("x", 0);
{statements}
  *ctx->Shape4ArgNameAndIndex("y", 0) = Shape({{{expression}}});
"""
    result = compiled(op(body, before=before))
    return result.ops["t"].infer({"x": f32(*shape)}, attrs)["y"][0].shape
