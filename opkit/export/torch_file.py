"""The file for PyTorch: custom ops, ``autograd.Function`` and the public function, as torch code.

What the kernels compute comes in as text (native) or is carried along (callback); nothing is run here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from opkit.export.builtin_steps import TORCH_WORDS
from opkit.export.frame import Frame, incoming
from opkit.export.layout import call
from opkit.export.model import ExportError, ExportKernel, ExportOp
from opkit.export.signature import class_name, names_of, parameters_of, takes_attrs
from opkit.export.steps import backward_lines, saved_names
from opkit.spec import AttrSpec

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
_RUN = '''def _views(item):
    """Return read-only numpy views of a tensor, or of each of a list."""
    if item is None or isinstance(item, (list, tuple)):
        return None if item is None else [_views(one) for one in item]
    array = item.detach().cpu().numpy()
    array.flags.writeable = False
    return array


def _run_numpy(kernel, tensors, *attrs):
    """Call a numpy kernel on read-only views; a result that may share memory with an argument is copied."""
    arrays = [_views(item) for item in tensors]
    flat = [array for item in arrays if item is not None for array in (item if isinstance(item, list) else [item])]
    found = kernel(tuple(arrays), *attrs)
    device = next(item.device for item in torch.utils._pytree.tree_leaves(tensors) if item is not None)
    results = []
    for item in found if isinstance(found, (list, tuple)) else [found]:
        array = np.ascontiguousarray(item).reshape(np.shape(item))
        if any(np.may_share_memory(array, given) for given in flat):
            array = array.copy()
        if not array.flags.writeable or any(stride < 0 for stride in array.strides):
            array = array.copy()
        results.append(torch.from_numpy(array).to(device))
    return results'''


class TorchFrame(Frame):
    """torch's way."""

    package = "torch"
    module = "torch"
    first = ("from __future__ import annotations",)
    imports = ("import torch",)
    run = _RUN

    def called_kernel(self, kernel: ExportKernel) -> str:
        """Return a numpy kernel as a custom op with its fake kernel."""
        safe = names_of(kernel)
        function = kernel.op.kernel.where.function if kernel.op.kernel is not None else ""
        tensors = ", ".join(safe[arg.name] for arg in kernel.inputs) + ("," if len(kernel.inputs) == 1 else "")
        attrs = f", {_attr_dict(kernel)}" if takes_attrs(kernel) else ""
        run = f"_run_numpy({function}, ({tensors}){attrs})"
        result = f"    return {run}[0]" if len(kernel.outputs) == 1 else f"    return tuple({run})"
        result = f"    return {run}" if kernel.gives_list else result
        made = _custom_op(kernel, _handle(kernel), kernel.name, _decoding(kernel), result)
        if not _encoded(kernel):
            return made
        args = [
            f"_encoded({safe[spec.name]})" if spec in _encoded(kernel) else safe[spec.name] for spec in kernel.attrs
        ]
        args = [*(safe[arg.name] for arg in kernel.inputs), *args]
        head = f"def _{kernel.name}({', '.join(parameters_of(kernel))}):"
        return f"{made}\n\n\n{head}\n{call(f'    return {_handle(kernel)}', args)}"

    def helpers(self, ops: Sequence[ExportOp]) -> list[str]:
        """Return what attributes need that custom ops do not take."""
        return [_ENCODED] if any(_encoded(kernel) for op in ops for kernel in op.kernels) else []

    def gradient(self, op: ExportOp, form: str) -> list[str]:
        """Return the gradient as registered with the custom op; natively also as an ``autograd.Function``."""
        if form == "callback":
            return _registered_gradient(op, _handle(op.forward)) if op.wirings else []
        found = [*_function(op), _native_custom_op(op)]
        return found + (_registered_gradient(op, f"{op.name}_op") if op.wirings else [])

    def public(self, op: ExportOp, form: str) -> str:
        """Return the function that users call."""
        kernel, safe = op.forward, names_of(op.forward)
        args = [safe[arg.name] for arg in kernel.inputs]
        values = [
            safe[spec.name] if form == "native" else _decoded(spec.type, safe[spec.name]) for spec in kernel.attrs
        ]
        lines = self.public_head(op)
        target = f"_{kernel.name}"
        if form == "native":
            lines.append(self.checked(op))
            if op.wirings:
                target = f"{class_name(op.name)}.apply"
                args, values = _flat(op, [*args, *values]), []
        lines.append(call(f"    return {target}", [*args, *values]))
        return "\n".join(lines)


_ENCODED = '''@torch.compiler.assume_constant_result
def _encoded(value):
    """Return a list that custom ops do not take as text, which they do."""
    return json.dumps(value)'''
_AS_TEXT = ("list_string", "list_shape", "list_data_type")


def _encoded(kernel: ExportKernel) -> list[AttrSpec]:
    """Return the attributes that pass through a custom op as text."""
    return [spec for spec in kernel.attrs if spec.type in _AS_TEXT]


def _decoding(kernel: ExportKernel) -> list[str]:
    """Return the statements that make the attributes of texts again."""
    safe = names_of(kernel)
    return [f"    {safe[spec.name]} = {_loaded(spec.type, safe[spec.name])}" for spec in _encoded(kernel)]


def _loaded(kind: str, name: str) -> str:
    return f"[tuple(item) for item in json.loads({name})]" if kind == "list_shape" else f"json.loads({name})"


def _handle(kernel: ExportKernel) -> str:
    return f"_{kernel.name}_numpy" if _encoded(kernel) else f"_{kernel.name}"


def _type(kind: str) -> str:
    return _TYPES.get(kind, "str")


def _parameters(kernel: ExportKernel) -> list[str]:
    safe = names_of(kernel)
    found = []
    for arg in kernel.inputs:
        kind = "list[torch.Tensor]" if kernel.is_list(arg.name) else "torch.Tensor"
        found.append(f"{safe[arg.name]}: {kind}{' | None' if arg.is_optional else ''}")
    return found + [f"{safe[spec.name]}: {_type(spec.type)}" for spec in kernel.attrs]


def _result(kernel: ExportKernel) -> str:
    if len(kernel.outputs) == 1:
        return "list[torch.Tensor]" if kernel.gives_list else "torch.Tensor"
    return f"tuple[{', '.join(['torch.Tensor'] * len(kernel.outputs))}]"


def _device(kernel: ExportKernel) -> str:
    safe = names_of(kernel)
    name = next(arg.name for arg in kernel.inputs if not arg.is_optional)
    return f"{safe[name]}{'[0]' if kernel.is_list(name) else ''}.device"


def _fake(kernel: ExportKernel, handle: str) -> str:
    made = f"torch.empty(shape, dtype=dtype, device={_device(kernel)})"
    lines = [
        f"@{handle}.register_fake",
        f"def _({', '.join(parameters_of(kernel))}):",
        *_decoding(kernel),
        f"    described = _infer_{kernel.name}({', '.join(parameters_of(kernel))})",
    ]
    if kernel.gives_list:
        lines.append(f"    return [{made} for shape, dtype in described]")
    elif len(kernel.outputs) == 1:
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


def _custom_op(kernel: ExportKernel, handle: str, name: str, first: list[str], result: str) -> str:
    head = call(f"def {handle}", _parameters(kernel), f" -> {_result(kernel)}:")
    infer = f"    _infer_{kernel.name}({', '.join(parameters_of(kernel))})"
    said = "".join(f"{line}\n" for line in first)
    mark = f'@torch.library.custom_op("opkit::{name}", mutates_args=())'
    return f"{mark}\n{head}\n{said}{infer}\n{result}\n\n\n{_fake(kernel, handle)}"


def _native_custom_op(op: ExportOp) -> str:
    """Return the op as a custom op over the native forward."""
    kernel = op.forward
    run = f"_{kernel.name}({', '.join(parameters_of(kernel))})"
    copy = "clone(memory_format=torch.contiguous_format)"
    result = (
        f"    return {run}.{copy}" if len(kernel.outputs) == 1 else f"    return tuple(item.{copy} for item in {run})"
    )
    said = '    """The op as one that the compiler does not look into."""'
    return _custom_op(kernel, f"{op.name}_op", op.name, [said, *_decoding(kernel)], result)


# --- gradient
def _lists(op: ExportOp) -> list[str]:
    safe = names_of(op.forward)
    return [safe[arg.name] for arg in op.forward.inputs if op.forward.is_list(arg.name)]


def _flat(op: ExportOp, names: list[str]) -> list[str]:
    """Return arguments with a list of tensors unpacked at the end, as ``autograd.Function`` needs it.

    Raises:
        ExportError: there are several lists.
    """
    lists = _lists(op)
    if len(lists) > 1:
        raise ExportError(f"op {op.name!r} takes several lists of values, for which the torch file has no form")
    return [name for name in names if name not in lists] + [f"*{name}" for name in lists]


def _setup(op: ExportOp, indent: str, is_flat: bool) -> list[str]:
    kernel, safe, saved = op.forward, names_of(op.forward), saved_names(op)
    names = _flat(op, parameters_of(kernel)) if is_flat else parameters_of(kernel)
    is_one = len(names) == 1 and names[0][0] != "*"
    lines = [f"{indent}{f'({names[0]},)' if is_one else ', '.join(names)}{',' if names[0][0] == '*' else ''} = inputs"]
    if len(kernel.outputs) > 1:
        lines.append(f"{indent}{', '.join(safe[arg.name] for arg in kernel.outputs)} = output")
    elif safe[kernel.outputs[0].name] in saved:
        lines.append(f"{indent}{safe[kernel.outputs[0].name]} = output")
    integers = _integer_outputs(op)
    if integers and is_flat:
        lines.append(f"{indent}ctx.mark_non_differentiable({', '.join(integers)})")
    if saved:
        lines.append(f"{indent}ctx.save_for_backward({', '.join(_starred(op, saved))})")
    for spec in kernel.attrs:
        is_text = spec.type in _AS_TEXT and not is_flat
        value = _loaded(spec.type, safe[spec.name]) if is_text else safe[spec.name]
        lines.append(f"{indent}ctx.{safe[spec.name]} = {value}")
    return lines


def _starred(op: ExportOp, names: list[str]) -> list[str]:
    return [f"*{name}" if name in _lists(op) else name for name in names]


def _integer_outputs(op: ExportOp) -> list[str]:
    safe = names_of(op.forward)
    pairs = zip(op.forward.outputs, op.examples[0].outputs)
    return [safe[arg.name] for arg, item in pairs if item.dtype.kind not in "fc"]


def _backward(op: ExportOp, indent: str, is_flat: bool) -> list[str]:
    saved = _starred(op, saved_names(op))
    lines = []
    if saved:
        target = f"({saved[0]},)" if len(saved) == 1 and saved[0][0] != "*" else ", ".join(saved)
        target += "," if len(saved) == 1 and saved[0][0] == "*" else ""
        lines.append(f"{target} = ctx.saved_tensors")
    attrs = {spec.name: f"ctx.{names_of(op.forward)[spec.name]}" for spec in op.forward.attrs}

    def returned(grads: Mapping[str, str]) -> str:
        names = [arg.name for arg in op.forward.inputs]
        rest = ["None"] * len(attrs)
        if not is_flat:
            found = [
                f"list({grads[name]})" if op.forward.is_list(name) and name in grads else grads.get(name, "None")
                for name in names
            ]
            return ", ".join([*found, *rest])
        single = [grads.get(name, "None") for name in names if not op.forward.is_list(name)]
        several = [_unpacked(op, name, grads) for name in names if op.forward.is_list(name)]
        return ", ".join([*single, *rest, *several]) + ("," if several and not single and not rest else "")

    lines += backward_lines(op, attrs, TORCH_WORDS, returned)
    return [indent + line for line in lines]


def _unpacked(op: ExportOp, name: str, grads: Mapping[str, str]) -> str:
    return f"*{grads[name]}" if grads.get(name, "[]") != "[]" else f"*[None] * len({names_of(op.forward)[name]})"


def _registered_gradient(op: ExportOp, handle: str) -> list[str]:
    suffix = f"_{op.name}"
    setup = "\n".join([f"def _setup_context{suffix}(ctx, inputs, output):", *_setup(op, "    ", False)])
    backward = "\n".join([f"def _backward{suffix}(ctx, {', '.join(incoming(op))}):", *_backward(op, "    ", False)])
    return [setup, backward, f"{handle}.register_autograd(_backward{suffix}, setup_context=_setup_context{suffix})"]


def _function(op: ExportOp) -> list[str]:
    """Return the autograd.Function of the native form, none for an op without a gradient."""
    if not op.wirings:
        return []
    kernel = op.forward
    lines = [
        f"class {class_name(op.name)}(torch.autograd.Function):",
        f'    """{op.name} and its gradient, seen through by torch.compile and torch.func."""',
        "",
        "    generate_vmap_rule = True",
        "",
        "    @staticmethod",
        f"    def forward({', '.join(_flat(op, parameters_of(kernel)))}):",
        f"        return _{kernel.name}({', '.join(parameters_of(kernel))})",
        "",
        "    @staticmethod",
        "    def setup_context(ctx, inputs, output):",
        *_setup(op, "        ", True),
        "",
        "    @staticmethod",
        f"    def backward(ctx, {', '.join(incoming(op))}):",
        *_backward(op, "        ", True),
        "",
        "",
        "# torch asks for the signature at every call; kept here, it is computed once.",
        f"{class_name(op.name)}.forward.__signature__ = inspect.signature({class_name(op.name)}.forward)",
    ]
    return ["\n".join(lines)]
