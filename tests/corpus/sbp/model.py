"""Model: an op of the corpus as text, and the directory and the checkable that are made of it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from opkit.checker import Checkable, OpReport, Options
from opkit.checker.claims.engine import check_claims
from opkit.project.directory import op_directory_of
from opkit.project.loading import assemble
from tests.corpus.loading import checkables_of

UNCHANGED = '*ctx->Shape4ArgNameAndIndex("y", 0) = *ctx->Shape4ArgNameAndIndex("x", 0);'
SAME_DTYPE = '*ctx->Dtype4ArgNameAndIndex("y", 0) = *ctx->Dtype4ArgNameAndIndex("x", 0);'
FLOATS = """const DataType dtype = *ctx->Dtype4ArgNameAndIndex("x", 0);
      CHECK_OR_RETURN(dtype == DataType::kFloat || dtype == DataType::kDouble);
      """


@dataclass(frozen=True)
class Op:
    """One op of the corpus.

    Args:
        name: of the op directory.
        kernel: the body of ``forward(args, attrs)``; inputs are names already.
        claims: lines of signatures such as "S0 B -> P", with a condition before a colon where there is one; or C++.
        inputs, attrs: declared arguments; an input that ends in "?" is optional.
        shape: C++ that sets the shape of y.
        dtype: C++ that sets its dtype.
        backward: the body of ``backward(args, attrs)`` that gives dx from x, y and dy; "" for no gradient.
        backward_claims: as claims, for the inputs x, y, dy.
        kind: of the false claim.
        cases: the text of a cases file.
    """

    name: str
    kernel: str
    claims: str
    inputs: tuple[str, ...] = ("x",)
    attrs: tuple[str, ...] = ()
    shape: str = UNCHANGED
    dtype: str = FLOATS + SAME_DTYPE
    backward: str = ""
    backward_claims: str = ""
    kind: str = ""
    cases: str = ""
    outputs: tuple[str, ...] = ("y",)
    extra: dict[str, str] = field(default_factory=dict)


def part(word: str, arg: str) -> str:
    """Return the call for "S0", "Si", "B" or "P" of an argument."""
    given = f'user_op::OpArg("{arg}", 0)'
    if word.startswith("S"):
        return f".Split({given}, {word[1:]})"
    return f".Broadcast({given})" if word == "B" else f".PartialSum({given})"


def statement(line: str, args: tuple[str, ...]) -> str:
    """Return the C++ of one line of claims: "each: ..." loops over the axes of the first input as i."""
    head, colon, tail = line.rpartition(":")
    words = [word for word in (tail if colon else line).split() if word != "->"]
    built = "ctx->NewBuilder()" + "".join(part(word, arg) for word, arg in zip(words, args, strict=True)) + ".Build();"
    if not colon:
        return built
    if head.startswith("each"):
        return f"FOR_RANGE(int64_t, i, 0, first.NumAxes(){head[4:]}) {{ {built} }}"
    return f"if ({head}) {{ {built} }}"


def claims_of(text: str, args: tuple[str, ...]) -> str:
    """Return the C++ of a function that makes these claims; "" for none."""
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    if not lines:
        return ""
    is_plain = "NewBuilder" in text
    body = "\n      ".join(lines if is_plain else [statement(line, args) for line in lines])
    return f""".SetGetSbpFn([](user_op::SbpContext* ctx) -> Maybe<void> {{
      const Shape& first = ctx->LogicalTensorDesc4InputArgNameAndIndex("{args[0]}", 0).shape();
      const int64_t n = first.NumAxes();
      {body}
      return Maybe<void>::Ok();
    }})"""


def definition(op: Op, claims: str | None = None) -> str:
    """Return the definition file; ``claims`` replaces the op's own."""
    inputs = tuple(name.rstrip("?") for name in op.inputs)
    declared = "\n    ".join(
        f'.{"OptionalInput" if name.endswith("?") else "Input"}("{name.rstrip("?")}")' for name in op.inputs
    )
    attrs = "\n    ".join(f".Attr<{kind}>({rest})" for kind, rest in (item.split(" ", 1) for item in op.attrs))
    outputs = "\n    ".join(f'.Output("{name}")' for name in op.outputs)
    made = claims_of(op.claims if claims is None else claims, (*inputs, *op.outputs))
    text = f"""#include "oneflow/core/framework/framework.h"
namespace oneflow {{
REGISTER_USER_OP("{op.name}_forward")
    {declared}
    {outputs}
    {attrs}
    .Attr<std::string>("device_sub_tag", "py")
    .SetTensorDescInferFn([](user_op::InferContext* ctx) -> Maybe<void> {{
      {op.shape}
      return Maybe<void>::Ok();
    }})
    {made}
    .SetDataTypeInferFn([](user_op::InferContext* ctx) -> Maybe<void> {{
      {op.dtype}
      return Maybe<void>::Ok();
    }});
"""
    if op.backward:
        its = claims_of(op.backward_claims, ("x", "y", "dy", "dx"))
        text += f"""
REGISTER_USER_OP("{op.name}_backward")
    .Input("x").Input("y").Input("dy").Output("dx")
    {attrs}
    .Attr<std::string>("device_sub_tag", "py")
    .SetTensorDescInferFn([](user_op::InferContext* ctx) -> Maybe<void> {{
      *ctx->Shape4ArgNameAndIndex("dx", 0) = *ctx->Shape4ArgNameAndIndex("x", 0);
      return Maybe<void>::Ok();
    }})
    {its}
    .SetDataTypeInferFn([](user_op::InferContext* ctx) -> Maybe<void> {{
      *ctx->Dtype4ArgNameAndIndex("dx", 0) = *ctx->Dtype4ArgNameAndIndex("x", 0);
      return Maybe<void>::Ok();
    }});
REGISTER_USER_OP_GRAD("{op.name}_forward").SetBackwardOpConfGenFn([](user_op::BackwardOpConfContext* ctx) {{
  const auto name = ctx->FwOp().op_name() + "_grad";
  ctx->DefineOp(name, [&ctx](user_op::BackwardOpBuilder& builder) {{
    return builder.OpTypeName("{op.name}_backward").InputBind("x", ctx->FwOp().input("x", 0))
        .InputBind("y", ctx->FwOp().output("y", 0)).InputBind("dy", ctx->FwOp().output_grad("y", 0))
        .Output("dx"){"".join(_passed(item) for item in op.attrs)}.Build();
  }});
  ctx->FwOp().InputGradBind(user_op::OpArg("x", 0), [&ctx, &name]() -> const std::string& {{
    return ctx->GetOp(name).output("dx", 0);
  }});
}});
"""
    return text + "}  // namespace oneflow\n"


def _passed(attr: str) -> str:
    kind, rest = attr.split(" ", 1)
    name = re.match(r'"(\w+)"', rest)
    assert name
    return f'.Attr("{name[1]}", ctx->FwOp().attr<{kind}>("{name[1]}"))'


def kernel(op: Op) -> str:
    """Return the kernel file."""
    names = ", ".join(name.rstrip("?") for name in op.inputs)
    body = "\n    ".join(op.kernel.strip().splitlines())
    text = f"import numpy as np\n\n\ndef forward(args, attrs):\n    ({names},) = args\n    {body}\n"
    if op.backward:
        back = "\n    ".join(op.backward.strip().splitlines())
        text += f"\n\ndef backward(args, attrs):\n    x, y, dy = args\n    {back}\n"
    return text


def written(op: Op, folder: Path, claims: str | None = None) -> Path:
    """Write the op directory beneath a folder and return its path."""
    path = folder / op.name
    path.mkdir(parents=True)
    (path / f"{op.name}_cpp_def.cpp").write_text(definition(op, claims))
    (path / f"{op.name}_py_kernel.py").write_text(kernel(op))
    if op.cases:
        (path / f"{op.name}_cases.py").write_text(f"import numpy as np\n\n\ndef cases(rng):\n    {op.cases}\n")
    return path


def checkable(op: Op, folder: Path, claims: str | None = None) -> Checkable:
    """Return the op as the prover takes it; its definition has no errors."""
    loaded = assemble(op_directory_of(written(op, folder, claims)))
    errors = [item for item in loaded.diagnostics if item.is_error and "api" not in item.message.lower()]
    assert not errors, errors
    (made,) = checkables_of(loaded, loaded.cases())
    return made


def proved(op: Op, folder: Path, claims: str | None = None, **options: object) -> OpReport:
    """Prove the op's claims in this process."""
    return check_claims(checkable(op, folder, claims), Options(**options))  # type: ignore[arg-type]
