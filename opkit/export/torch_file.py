"""The file for PyTorch: kernels, gradient and the public function, as torch code.

What the kernels compute comes in as text (native) or is carried along (callback); nothing is run here.
"""

from __future__ import annotations

from collections.abc import Mapping

from opkit.export.inference import inference_code
from opkit.export.layout import call, document
from opkit.export.model import ExportKernel, ExportOp
from opkit.export.signature import blob_name, class_name, kernel_source, literal, names_of, parameters_of, takes_attrs
from opkit.export.steps import step_lines

__all__ = ["write_torch"]

_TYPES = {
    "int32": "int",
    "int64": "int",
    "bool": "bool",
    "float": "float",
    "double": "float",
    "string": "str",
    "data_type": "str",
    "shape": "list[int]",
    "list_int32": "list[int]",
    "list_int64": "list[int]",
    "list_float": "list[float]",
}
_RUN = '''def _run_numpy(kernel, tensors, *attrs):
    """Call a numpy kernel on read-only views; a result that may share memory with an argument is copied."""
    arrays = tuple(None if item is None else item.detach().cpu().numpy() for item in tensors)
    for array in arrays:
        if array is not None:
            array.flags.writeable = False
    found = kernel(arrays, *attrs)
    device = next(item.device for item in tensors if item is not None)
    results = []
    for item in found if isinstance(found, (list, tuple)) else [found]:
        array = np.ascontiguousarray(item).reshape(np.shape(item))
        if any(given is not None and np.may_share_memory(array, given) for given in arrays):
            array = array.copy()
        if not array.flags.writeable or any(stride < 0 for stride in array.strides):
            array = array.copy()
        results.append(torch.from_numpy(array).to(device))
    return results'''


def write_torch(op: ExportOp, form: str, bodies: Mapping[str, str], head: str) -> str:
    """Return the text of ``NAME_torch.py``.

    Args:
        op: the op.
        form: "native" or "callback".
        bodies: {op type: text of the function ``_TYPE``} for the native form.
        head: the docstring's text.
    """
    helpers: dict[str, str] = {}
    inferences: list[str] = []
    for kernel in op.kernels if form == "callback" else (op.forward,):
        text, more = inference_code(kernel, names_of(kernel), "torch")
        inferences.append(text)
        helpers.update(more)
    imports = ["from __future__ import annotations\n"] if form == "native" else []
    body = "\n".join([*inferences, *bodies.values()])
    standard = ["import math"] if "math." in body else []
    third = (["import numpy as np"] if form == "callback" or "np." in body else []) + ["import torch"]
    imports.append("\n\n".join("\n".join(group) for group in (standard, third) if group))
    parts = [f'"""{head}"""\n\n' + "\n".join(imports) + f'\n\n__all__ = ["{op.name}"]']
    if form == "callback":
        parts += ["# The numpy kernels.\n" + kernel_source(op), _RUN]
    parts += [*helpers.values(), *inferences]
    if form == "callback":
        parts += [_custom_kernel(op, kernel) for kernel in op.kernels]
        parts += _registered_gradient(op, _handle(op.forward)) if op.wiring is not None else []
    else:
        parts += [*bodies.values(), *_function(op), _native_custom_op(op)]
        parts += _registered_gradient(op, f"{op.name}_op") if op.wiring is not None else []
    parts.append(_public(op, form))
    return document(parts)


def _handle(kernel: ExportKernel) -> str:
    return f"_{kernel.name}"


def _type(kind: str) -> str:
    return _TYPES.get(kind, "str")


def _parameters(kernel: ExportKernel) -> list[str]:
    safe = names_of(kernel)
    found = [
        f"{safe[arg.name]}: {'torch.Tensor | None' if arg.is_optional else 'torch.Tensor'}" for arg in kernel.inputs
    ]
    return found + [f"{safe[spec.name]}: {_type(spec.type)}" for spec in kernel.attrs]


def _result(kernel: ExportKernel) -> str:
    if len(kernel.outputs) == 1:
        return "torch.Tensor"
    return f"tuple[{', '.join(['torch.Tensor'] * len(kernel.outputs))}]"


def _device(kernel: ExportKernel) -> str:
    safe = names_of(kernel)
    return f"{next(safe[arg.name] for arg in kernel.inputs if not arg.is_optional)}.device"


def _fake(kernel: ExportKernel, handle: str) -> str:
    made = f"torch.empty(shape, dtype=dtype, device={_device(kernel)})"
    lines = [
        f"@{handle}.register_fake",
        f"def _({', '.join(parameters_of(kernel))}):",
        f"    described = _infer_{kernel.name}({', '.join(parameters_of(kernel))})",
    ]
    if len(kernel.outputs) == 1:
        lines += ["    ((shape, dtype),) = described", f"    return {made}"]
    else:
        lines.append(f"    return tuple({made} for shape, dtype in described)")
    return "\n".join(lines)


def _attr_dict(kernel: ExportKernel) -> str:
    safe = names_of(kernel)
    inner = [f'"{spec.name}": {_decoded(spec.type, safe[spec.name])}' for spec in kernel.attrs]
    return "{" + ", ".join(inner) + "}"


def _decoded(kind: str, name: str) -> str:
    if kind == "shape":
        return f"tuple({name})"
    return f"list({name})" if kind.startswith("list_") else name


def _custom_kernel(op: ExportOp, kernel: ExportKernel) -> str:
    """Return a numpy kernel as a custom op with its fake kernel."""
    handle = _handle(kernel)
    safe = names_of(kernel)
    function = kernel.op.kernel.where.function if kernel.op.kernel is not None else ""
    tensors = ", ".join(safe[arg.name] for arg in kernel.inputs) + ("," if len(kernel.inputs) == 1 else "")
    attrs = f", {_attr_dict(kernel)}" if takes_attrs(kernel) else ""
    infer = f"    _infer_{kernel.name}({', '.join(parameters_of(kernel))})"
    run = f"_run_numpy({function}, ({tensors}){attrs})"
    result = f"    return {run}[0]" if len(kernel.outputs) == 1 else f"    return tuple({run})"
    head = call(f"def {handle}", _parameters(kernel), f" -> {_result(kernel)}:")
    return (
        f'@torch.library.custom_op("opkit::{kernel.name}", mutates_args=())\n{head}\n{infer}\n{result}\n\n\n'
        + _fake(kernel, handle)
    )


def _native_custom_op(op: ExportOp) -> str:
    """Return the op as a custom op over the native forward."""
    kernel = op.forward
    handle = f"{op.name}_op"
    run = f"_{kernel.name}({', '.join(parameters_of(kernel))})"
    if len(kernel.outputs) == 1:
        result = f"    return {run}.clone(memory_format=torch.contiguous_format)"
    else:
        result = f"    return tuple(item.clone(memory_format=torch.contiguous_format) for item in {run})"
    head = call(f"def {handle}", _parameters(kernel), f" -> {_result(kernel)}:")
    infer = f"    _infer_{kernel.name}({', '.join(parameters_of(kernel))})"
    return (
        f'@torch.library.custom_op("opkit::{op.name}", mutates_args=())\n{head}\n'
        f'    """The op as one that the compiler does not look into."""\n{infer}\n{result}\n\n\n'
        + _fake(kernel, handle)
    )


# --- gradient
def _saved(op: ExportOp) -> list[str]:
    if op.wiring is None:
        return []
    order = [f"in:{arg.name}_0" for arg in op.forward.inputs] + [f"out:{arg.name}_0" for arg in op.forward.outputs]
    return [blob_name(blob) for blob in order if blob in op.wiring.reads]


def _setup(op: ExportOp, indent: str) -> list[str]:
    kernel = op.forward
    names = parameters_of(kernel)
    safe = names_of(kernel)
    lines = [f"{indent}{', '.join(names)}{',' if len(names) == 1 else ''} = inputs"]
    if len(kernel.outputs) == 1:
        if safe[kernel.outputs[0].name] in _saved(op):
            lines.append(f"{indent}{safe[kernel.outputs[0].name]} = output")
    else:
        lines.append(f"{indent}{', '.join(safe[arg.name] for arg in kernel.outputs)} = output")
    integers = _integer_outputs(op)
    if integers:
        lines.append(f"{indent}ctx.mark_non_differentiable({', '.join(integers)})")
    if _saved(op):
        lines.append(f"{indent}ctx.save_for_backward({', '.join(_saved(op))})")
    lines += [f"{indent}ctx.{safe[spec.name]} = {safe[spec.name]}" for spec in kernel.attrs]
    return lines


def _integer_outputs(op: ExportOp) -> list[str]:
    example = op.examples[0]
    safe = names_of(op.forward)
    return [safe[arg.name] for arg, item in zip(op.forward.outputs, example.outputs) if item.dtype.kind not in "fc"]


def _backward(op: ExportOp, indent: str) -> list[str]:
    assert op.wiring is not None
    safe = names_of(op.forward)
    lines: list[str] = []
    saved = _saved(op)
    if saved:
        lines.append(f"{indent}{f'({saved[0]},)' if len(saved) == 1 else ', '.join(saved)} = ctx.saved_tensors")
    lines += [
        indent + line for line in step_lines(op, {spec.name: f"ctx.{safe[spec.name]}" for spec in op.forward.attrs})
    ]
    found = [
        blob_name(op.wiring.bindings[arg.name]) if arg.name in op.wiring.bindings else "None"
        for arg in op.forward.inputs
    ]
    found += ["None"] * len(op.forward.attrs)
    lines.append(f"{indent}return {', '.join(found)}")
    return lines


def _incoming(op: ExportOp) -> list[str]:
    safe = names_of(op.forward)
    return [f"grad_{safe[arg.name]}" for arg in op.forward.outputs]


def _registered_gradient(op: ExportOp, handle: str) -> list[str]:
    setup = "\n".join(
        [
            "def _setup_context(ctx, inputs, output):",
            *[line for line in _setup(op, "    ") if "mark_non_differentiable" not in line],
        ]
    )
    backward = "\n".join([f"def _backward(ctx, {', '.join(_incoming(op))}):", *_backward(op, "    ")])
    return [setup, backward, f"{handle}.register_autograd(_backward, setup_context=_setup_context)"]


def _function(op: ExportOp) -> list[str]:
    """Return the autograd.Function of the native form, none for an op without a gradient."""
    if op.wiring is None:
        return []
    kernel = op.forward
    names = ", ".join(parameters_of(kernel))
    lines = [
        f"class {class_name(op.name)}(torch.autograd.Function):",
        f'    """{op.name} and its gradient, seen through by torch.compile and torch.func."""',
        "",
        "    generate_vmap_rule = True",
        "",
        "    @staticmethod",
        f"    def forward({names}):",
        f"        return _{kernel.name}({names})",
        "",
        "    @staticmethod",
        "    def setup_context(ctx, inputs, output):",
        *_setup(op, "        "),
        "",
        "    @staticmethod",
        f"    def backward(ctx, {', '.join(_incoming(op))}):",
        *_backward(op, "        "),
    ]
    return ["\n".join(lines)]


def _public(op: ExportOp, form: str) -> str:
    kernel = op.forward
    safe = names_of(kernel)
    given = [safe[arg.name] + ("=None" if arg.is_optional else "") for arg in kernel.inputs]
    keywords = [f"{safe[spec.name]}={literal(spec.default)}" for spec in kernel.attrs]
    head = call(f"def {op.name}", [*given, *(["*", *keywords] if keywords else [])], ":")
    args = [safe[arg.name] for arg in kernel.inputs]
    values = [safe[spec.name] if form == "native" else _decoded(spec.type, safe[spec.name]) for spec in kernel.attrs]
    lines = [head, f'    """{_summary(op)}"""']
    if form == "native":
        lines.append(f"    _infer_{kernel.name}({', '.join(parameters_of(kernel))})")
        target = f"{class_name(op.name)}.apply" if op.wiring is not None else f"_{kernel.name}"
    else:
        target = _handle(kernel)
    lines.append(call(f"    return {target}", [*args, *values]))
    return "\n".join(lines)


def _summary(op: ExportOp) -> str:
    outputs = ", ".join(arg.name for arg in op.forward.outputs)
    inputs = ", ".join(arg.name for arg in op.forward.inputs)
    return f"Return {outputs} of the op {op.name}, computed from {inputs}."
