"""Rows of the corpus: right ops as a compact table, and single faults planted in them; writes op directories.

Holds no op itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import dedent

__all__ = ["CLASSES", "Mutant", "Op", "same_as", "write"]

#: The thirteen classes of faults.
CLASSES = (
    "gross",
    "subtle",
    "region",
    "shape",
    "attribute",
    "dy",
    "accumulation",
    "wiring",
    "impurity",
    "contract",
    "layout",
    "precision",
    "edge",
)
_CPP_ATTR = {"float": "float", "double": "double", "int32": "int32_t", "bool": "bool", "string": "std::string"}
_CPP_ATTR |= {"list_int32": "std::vector<int32_t>", "list_float": "std::vector<float>"}


def same_as(name: str, outputs: Sequence[str] = ("y",)) -> str:
    """Return infer code that gives outputs an input's shape."""
    return "".join(
        f'*ctx->Shape4ArgNameAndIndex("{out}", 0) = *ctx->Shape4ArgNameAndIndex("{name}", 0);\n' for out in outputs
    )


@dataclass(frozen=True)
class Op:
    """One right op.

    Args:
        name: of the directory and the op type.
        forward: body of ``def forward(args)`` (with ``attrs`` where there are attributes); inputs are unpacked.
        backward: body of ``def backward``; the names in ``saved`` are unpacked. Empty: no gradient.
        inputs, outputs: argument names.
        saved: the backward op's inputs: forward's inputs, outputs, and "d" + output for incoming gradients.
        grads: inputs that get a gradient.
        attrs: (name, type, default as C++).
        infer: C++ that sets the outputs' shapes; default: that of the first input.
        dtypes: {output: C++ expression} where the dtype is not the first input's.
        like: {gradient's input: saved name whose shape it has} where the input itself is not saved.
        cases: source of the cases file.
        prelude: module-level Python.
        tricky: a right op that common checkers accuse.
    """

    name: str
    forward: str
    backward: str = ""
    inputs: tuple[str, ...] = ("x",)
    outputs: tuple[str, ...] = ("y",)
    saved: tuple[str, ...] = ("x", "dy")
    grads: tuple[str, ...] = ("x",)
    attrs: tuple[tuple[str, str, str], ...] = ()
    infer: str = ""
    dtypes: dict[str, str] = field(default_factory=dict)
    like: dict[str, str] = field(default_factory=dict)
    cases: str = ""
    prelude: str = ""
    tricky: bool = False

    # --- generated text
    def spec(self) -> str:
        """Return the text of the cpp_def file."""
        parts = ['#include "oneflow/core/framework/framework.h"\n\nnamespace oneflow {\nnamespace {\n']
        infer = dedent(self.infer) if self.infer else same_as(self.inputs[0], self.outputs)
        parts.append(self._registration(f"{self.name}_forward", self.inputs, self.outputs, infer, self.dtypes))
        if self.backward:
            shapes = "".join(
                f'*ctx->Shape4ArgNameAndIndex("d{name}", 0) = '
                f'*ctx->Shape4ArgNameAndIndex("{self.like.get(name, name)}", 0);\n'
                for name in self.grads
            )
            results = tuple(f"d{name}" for name in self.grads)
            first = self.like.get(self.grads[0], self.grads[0])
            dtypes = dict.fromkeys(results, f'*ctx->Dtype4ArgNameAndIndex("{first}", 0)')
            parts.append(self._registration(f"{self.name}_backward", self.saved, results, shapes, dtypes))
            parts.append(self._gradient())
        parts.append("}  // namespace\n}  // namespace oneflow\n")
        return "\n".join(parts)

    def _registration(
        self, op_type: str, inputs: Sequence[str], outputs: Sequence[str], infer: str, dtypes: dict[str, str]
    ) -> str:
        lines = [f'REGISTER_USER_OP("{op_type}")', '    .Attr<std::string>("device_sub_tag", "py")']
        lines += [f'    .Attr<{_CPP_ATTR[kind]}>("{name}", {default})' for name, kind, default in self.attrs]
        lines += [f'    .Input("{name}")' for name in inputs] + [f'    .Output("{name}")' for name in outputs]
        body = "".join(f"      {line}\n" for line in infer.strip().splitlines())
        lines.append("    .SetTensorDescInferFn([](user_op::InferContext* ctx) -> Maybe<void> {")
        lines.append(body + "      return Maybe<void>::Ok();\n    })")
        types = "".join(
            f'      *ctx->Dtype4ArgNameAndIndex("{name}", 0) = '
            f'{dtypes.get(name, f"*ctx->Dtype4ArgNameAndIndex({chr(34)}{inputs[0]}{chr(34)}, 0)")};\n'
            for name in outputs
        )
        lines.append("    .SetDataTypeInferFn([](user_op::InferContext* ctx) -> Maybe<void> {")
        lines.append(types + "      return Maybe<void>::Ok();\n    });\n")
        return "\n".join(lines)

    def _blob(self, name: str) -> str:
        if name in self.inputs:
            return f'ctx->FwOp().input("{name}", 0)'
        if name in self.outputs:
            return f'ctx->FwOp().output("{name}", 0)'
        return f'ctx->FwOp().output_grad("{name[1:]}", 0)'

    def _gradient(self) -> str:
        binds = "".join(f'          .InputBind("{name}", {self._blob(name)})\n' for name in self.saved)
        outs = "".join(f'          .Output("d{name}")\n' for name in self.grads)
        attrs = "".join(
            f'          .Attr<{_CPP_ATTR[kind]}>("{name}", ctx->FwOp().attr<{_CPP_ATTR[kind]}>("{name}"))\n'
            for name, kind, _ in self.attrs
        )
        bound = "".join(
            f'    ctx->FwOp().InputGradBind(user_op::OpArg("{name}", 0), [&ctx, &grad]() -> const std::string& {{\n'
            f'      return ctx->GetOp(grad).output("d{name}", 0);\n    }});\n'
            for name in self.grads
        )
        return (
            f'REGISTER_USER_OP_GRAD("{self.name}_forward")\n'
            "    .SetBackwardOpConfGenFn([](user_op::BackwardOpConfContext* ctx) {\n"
            '    const auto grad = ctx->FwOp().op_name() + "_grad";\n'
            "    ctx->DefineOp(grad, [&ctx](user_op::BackwardOpBuilder& builder) {\n"
            f'      return builder.OpTypeName("{self.name}_backward")\n{binds}{outs}{attrs}          .Build();\n'
            f"    }});\n{bound}    }});\n"
        )

    def kernel(self) -> str:
        """Return the text of the kernel file."""
        signature = "(args, attrs)" if self.attrs else "(args)"
        text = "import numpy as np\n\n"
        if self.prelude:
            text += dedent(self.prelude).strip() + "\n\n\n"
        text += f"def forward{signature}:\n    ({', '.join(self.inputs)},) = args\n{_indent(self.forward)}\n"
        if self.backward:
            text += f"\n\ndef backward{signature}:\n    ({', '.join(self.saved)},) = args\n{_indent(self.backward)}\n"
        return text

    def api(self) -> str:
        """Return the text of the api file."""
        takes = ", ".join(self.inputs)
        inputs = "".join(f'        .Input("{name}", [{name}])\n' for name in self.inputs)
        outputs = "".join(f'        .Output("{name}")\n' for name in self.outputs)
        result = "SoleOutputBlob" if len(self.outputs) == 1 else "RemoteBlobList"
        return (
            f"import oneflow as flow\n\n\ndef {self.name}_forward({takes}):\n    op = (\n"
            f'        flow.user_op_builder("{self.name}")\n        .Op("{self.name}_forward")\n{inputs}{outputs}'
            f"        .Build()\n    )\n    return op.InferAndTryRun().{result}()\n"
        )


def _indent(body: str) -> str:
    return "\n".join("    " + line if line.strip() else "" for line in dedent(body).strip("\n").splitlines())


@dataclass(frozen=True)
class Mutant:
    """One fault planted in a right op: a text replaced once.

    Args:
        op: name of the right op.
        fault: one of CLASSES.
        what: what was done, in a few words.
        old, new: the text and its replacement; it must occur exactly once.
        file: "kernel" or "spec".
        prelude: module-level Python added to the kernel.
    """

    op: str
    fault: str
    what: str
    old: str
    new: str
    file: str = "kernel"
    prelude: str = ""

    @property
    def label(self) -> str:
        """Name for test ids."""
        return f"{self.op}: {self.what}"


def write(op: Op, folder: Path, mutant: Mutant | None = None) -> Path:
    """Write an op directory below ``folder`` and return it.

    Raises:
        ValueError: the mutant's text does not occur exactly once.
    """
    texts = {"spec": op.spec(), "kernel": op.kernel()}
    if mutant is not None:
        old, new = mutant.old, mutant.new
        if texts[mutant.file].count(old) != 1:
            raise ValueError(f"{mutant.label}: the text occurs {texts[mutant.file].count(old)} times")
        texts[mutant.file] = texts[mutant.file].replace(old, new)
        if mutant.prelude:
            head, tail = texts["kernel"].split("\n", 1)
            texts["kernel"] = f"{head}\n{dedent(mutant.prelude)}\n{tail}"
    directory = folder / op.name
    directory.mkdir(parents=True, exist_ok=True)
    (directory / f"{op.name}_cpp_def.cpp").write_text(texts["spec"])
    (directory / f"{op.name}_py_kernel.py").write_text(texts["kernel"])
    (directory / f"{op.name}_py_api.py").write_text(op.api())
    if op.cases:
        (directory / f"{op.name}_cases.py").write_text("import numpy as np\n\n\n" + dedent(op.cases).strip() + "\n")
    return directory
