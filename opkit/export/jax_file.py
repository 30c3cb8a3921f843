"""The file for JAX: kernels, gradient and the public function, as jax.numpy code.

What the kernels compute comes in as text (native) or is carried along (callback); nothing is run here.
"""

from __future__ import annotations

from collections.abc import Mapping

from opkit.export.inference import inference_code
from opkit.export.layout import call, document
from opkit.export.model import ExportKernel, ExportOp
from opkit.export.signature import blob_name, kernel_source, literal, names_of, parameters_of, takes_attrs
from opkit.export.steps import step_lines

__all__ = ["write_jax"]

_RUN = '''def _run_numpy(kernel, described, arrays, *attrs):
    """Call a numpy kernel on the host; the shapes and dtypes of its results are known beforehand."""
    present = [item is not None for item in arrays]

    def run(*given):
        left = iter(given)
        views = tuple(np.asarray(next(left)).view() if is_there else None for is_there in present)
        for view in views:
            if view is not None:
                view.flags.writeable = False
        found = kernel(views, *attrs)
        return tuple(np.asarray(item) for item in (found if isinstance(found, (list, tuple)) else [found]))

    results = tuple(jax.ShapeDtypeStruct(shape, dtype) for shape, dtype in described)
    given = [item for item in arrays if item is not None]
    return jax.pure_callback(run, results, *given, vmap_method="sequential")'''


def write_jax(op: ExportOp, form: str, bodies: Mapping[str, str], head: str) -> str:
    """Return the text of ``NAME_jax.py``.

    Args:
        op: the op.
        form: "native" or "callback".
        bodies: {op type: text of the function ``_TYPE``} for the native form.
        head: the docstring's text.
    """
    helpers: dict[str, str] = {}
    inferences: list[str] = []
    for kernel in op.kernels if form == "callback" else (op.forward,):
        text, more = inference_code(kernel, names_of(kernel), "jnp")
        inferences.append(text)
        helpers.update(more)
    body = "\n".join([*inferences, *bodies.values()])
    standard = (["import functools"] if op.wiring is not None and op.forward.attrs else []) + (
        ["import math"] if "math." in body else []
    )
    third = ["import jax", "import jax.numpy as jnp"] + (
        ["import numpy as np"] if form == "callback" or "np." in body.replace("jnp.", "") else []
    )
    imports = "\n\n".join("\n".join(group) for group in (standard, third) if group)
    parts = [f'"""{head}"""\n\n{imports}\n\n__all__ = ["{op.name}"]']
    if form == "callback":
        parts += ["# The numpy kernels.\n" + kernel_source(op), _RUN]
    parts += [*helpers.values(), *inferences]
    parts += [_called_kernel(kernel) for kernel in op.kernels] if form == "callback" else list(bodies.values())
    parts += _gradient(op)
    parts.append(_public(op))
    return document(parts)


def _called_kernel(kernel: ExportKernel) -> str:
    safe = names_of(kernel)
    function = kernel.op.kernel.where.function if kernel.op.kernel is not None else ""
    names = ", ".join(parameters_of(kernel))
    arrays = ", ".join(safe[arg.name] for arg in kernel.inputs) + ("," if len(kernel.inputs) == 1 else "")
    attrs = ""
    if takes_attrs(kernel):
        attrs = ", {" + ", ".join(f'"{spec.name}": {_plain(spec.type, safe[spec.name])}' for spec in kernel.attrs) + "}"
    run = f"_run_numpy({function}, _infer_{kernel.name}({names}), ({arrays}){attrs})"
    return f"def _{kernel.name}({names}):\n    return {run}{'[0]' if len(kernel.outputs) == 1 else ''}"


def _plain(kind: str, name: str) -> str:
    return f"list({name})" if kind.startswith("list_") else name


def _saved(op: ExportOp) -> list[str]:
    if op.wiring is None:
        return []
    order = [f"in:{arg.name}_0" for arg in op.forward.inputs] + [f"out:{arg.name}_0" for arg in op.forward.outputs]
    return [blob_name(blob) for blob in order if blob in op.wiring.reads]


def _tuple(names: list[str]) -> str:
    return f"({', '.join(names)}{',' if len(names) == 1 else ''})"


def _gradient(op: ExportOp) -> list[str]:
    """Return the function with its forward and backward rules, or the bare one where there is no gradient."""
    kernel = op.forward
    safe = names_of(kernel)
    names = ", ".join(parameters_of(kernel))
    if op.wiring is None:
        return []
    attrs = [safe[spec.name] for spec in kernel.attrs]
    places = tuple(range(len(kernel.inputs), len(kernel.inputs) + len(attrs)))
    mark = f"@functools.partial(jax.custom_vjp, nondiff_argnums={places!r})" if attrs else "@jax.custom_vjp"
    outputs = [safe[arg.name] for arg in kernel.outputs]
    core = f"{mark}\ndef _{op.name}_op({names}):\n    return _{kernel.name}({names})"
    forward = [
        f"def _{op.name}_fwd({names}):",
        f"    {', '.join(outputs)} = _{kernel.name}({names})",
        f"    return {outputs[0] if len(outputs) == 1 else _tuple(outputs)}, {_tuple(_saved(op))}",
    ]
    incoming = [f"grad_{name}" for name in outputs]
    backward = [f"def _{op.name}_bwd({', '.join([*attrs, 'residuals', 'grads'])}):"]
    if _saved(op):
        backward.append(f"    {', '.join(_saved(op))}{',' if len(_saved(op)) == 1 else ''} = residuals")
    read = [item for arg, item in zip(kernel.outputs, incoming) if f"dout:{arg.name}_0" in op.wiring.reads]
    if read:
        target = incoming[0] if len(incoming) == 1 else ", ".join(item if item in read else "_" for item in incoming)
        backward.append(f"    {target} = grads")
    backward += ["    " + line for line in step_lines(op, {spec.name: safe[spec.name] for spec in kernel.attrs})]
    found = [
        blob_name(op.wiring.bindings[arg.name]) if arg.name in op.wiring.bindings else "None" for arg in kernel.inputs
    ]
    backward.append(f"    return {_tuple(found)}")
    define = f"_{op.name}_op.defvjp(_{op.name}_fwd, _{op.name}_bwd)"
    return [core, "\n".join(forward), "\n".join(backward), define]


def _public(op: ExportOp) -> str:
    kernel = op.forward
    safe = names_of(kernel)
    given = [safe[arg.name] + ("=None" if arg.is_optional else "") for arg in kernel.inputs]
    keywords = [f"{safe[spec.name]}={literal(spec.default)}" for spec in kernel.attrs]
    head = call(f"def {op.name}", [*given, *(["*", *keywords] if keywords else [])], ":")
    values = [
        f"tuple({safe[spec.name]})" if spec.type == "shape" or spec.type.startswith("list_") else safe[spec.name]
        for spec in kernel.attrs
    ]
    target = f"_{op.name}_op" if op.wiring is not None else f"_{kernel.name}"
    outputs = ", ".join(arg.name for arg in kernel.outputs)
    inputs = ", ".join(arg.name for arg in kernel.inputs)
    lines = [head, f'    """Return {outputs} of the op {op.name}, computed from {inputs}."""']
    lines += [f"    {safe[arg.name]} = jnp.asarray({safe[arg.name]})" for arg in kernel.inputs if not arg.is_optional]
    lines.append(f"    _infer_{kernel.name}({', '.join(parameters_of(kernel))})")
    lines.append(call(f"    return {target}", [*[safe[arg.name] for arg in kernel.inputs], *values]))
    return "\n".join(lines)
