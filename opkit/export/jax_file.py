"""The file for JAX: kernels that are called, ``jax.custom_vjp`` and the public function, as jax.numpy code.

What the kernels compute comes in as text (native) or is carried along (callback); nothing is run here.
"""

from __future__ import annotations

from collections.abc import Mapping

from opkit.export.builtin_steps import JAX_WORDS
from opkit.export.frame import Frame, incoming
from opkit.export.layout import call
from opkit.export.model import ExportKernel, ExportOp
from opkit.export.signature import names_of, parameters_of, takes_attrs
from opkit.export.steps import backward_lines, saved_names

_RUN = '''def _run_numpy(kernel, described, arrays, *attrs):
    """Call a numpy kernel on the host; the shapes and dtypes of its results are known beforehand."""

    def view(item):
        array = np.asarray(item).view()
        array.flags.writeable = False
        return array

    def run(given):
        found = kernel(jax.tree.map(view, given), *attrs)
        return tuple(np.asarray(item) for item in (found if isinstance(found, (list, tuple)) else [found]))

    results = tuple(jax.ShapeDtypeStruct(shape, dtype) for shape, dtype in described)
    return jax.pure_callback(run, results, arrays, vmap_method="sequential")'''


class JaxFrame(Frame):
    """JAX's way."""

    package = "jax"
    module = "jnp"
    imports = ("import jax", "import jax.numpy as jnp")
    run = _RUN

    def called_kernel(self, kernel: ExportKernel) -> str:
        """Return a numpy kernel behind ``pure_callback``."""
        safe = names_of(kernel)
        function = kernel.op.kernel.where.function if kernel.op.kernel is not None else ""
        names = ", ".join(parameters_of(kernel))
        arrays = _tuple([safe[arg.name] for arg in kernel.inputs])
        attrs = ""
        if takes_attrs(kernel):
            inner = ", ".join(f'"{spec.name}": {_plain(spec.type, safe[spec.name])}' for spec in kernel.attrs)
            attrs = f", {{{inner}}}"
        run = f"_run_numpy({function}, _infer_{kernel.name}({names}), {arrays}{attrs})"
        place = "[0]" if len(kernel.outputs) == 1 and not kernel.gives_list else ""
        return f"def _{kernel.name}({names}):\n    return {run}{place}"

    def gradient(self, op: ExportOp, form: str) -> list[str]:
        """Return the function with its forward and backward rules, or nothing where there is no gradient."""
        if not op.wirings:
            return []
        kernel, safe = op.forward, names_of(op.forward)
        names = ", ".join(parameters_of(kernel))
        attrs = [safe[spec.name] for spec in kernel.attrs]
        places = tuple(range(len(kernel.inputs), len(kernel.inputs) + len(attrs)))
        mark = f"@functools.partial(jax.custom_vjp, nondiff_argnums={places!r})" if attrs else "@jax.custom_vjp"
        core = f"{mark}\ndef _{op.name}_op({names}):\n    return _{kernel.name}({names})"
        define = f"_{op.name}_op.defvjp(_{op.name}_fwd, _{op.name}_bwd)"
        return [core, _forward_rule(op), _backward_rule(op), define]

    def public(self, op: ExportOp, form: str) -> str:
        """Return the function that users call."""
        kernel, safe = op.forward, names_of(op.forward)
        lines = self.public_head(op)
        for arg in kernel.inputs:
            name = safe[arg.name]
            made = (
                f"tuple(jnp.asarray(item) for item in {name})" if kernel.is_list(arg.name) else f"jnp.asarray({name})"
            )
            if not arg.is_optional:
                lines.append(f"    {name} = {made}")
        lines.append(self.checked(op))
        values = [
            f"tuple({safe[spec.name]})" if spec.type == "shape" or spec.type.startswith("list_") else safe[spec.name]
            for spec in kernel.attrs
        ]
        target = f"_{op.name}_op" if op.wirings else f"_{kernel.name}"
        lines.append(call(f"    return {target}", [*(safe[arg.name] for arg in kernel.inputs), *values]))
        return "\n".join(lines)


def _plain(kind: str, name: str) -> str:
    return f"list({name})" if kind.startswith("list_") else name


def _tuple(names: list[str]) -> str:
    return f"({', '.join(names)}{',' if len(names) == 1 else ''})"


def _forward_rule(op: ExportOp) -> str:
    names = ", ".join(parameters_of(op.forward))
    outputs = [names_of(op.forward)[arg.name] for arg in op.forward.outputs]
    return "\n".join(
        [
            f"def _{op.name}_fwd({names}):",
            f"    {', '.join(outputs)} = _{op.forward.name}({names})",
            f"    return {outputs[0] if len(outputs) == 1 else _tuple(outputs)}, {_tuple(saved_names(op))}",
        ]
    )


def _backward_rule(op: ExportOp) -> str:
    kernel, safe, saved = op.forward, names_of(op.forward), saved_names(op)
    attrs = {spec.name: safe[spec.name] for spec in kernel.attrs}
    lines = [f"def _{op.name}_bwd({', '.join([*attrs.values(), 'residuals', 'grads'])}):"]
    if saved:
        lines.append(f"    {f'({saved[0]},)' if len(saved) == 1 else ', '.join(saved)} = residuals")
    given = incoming(op)
    read = [item for arg, item in zip(kernel.outputs, given) if f"dout:{arg.name}_0" in op.reads]
    if read:
        target = given[0] if len(given) == 1 else ", ".join(item if item in read else "_" for item in given)
        lines.append(f"    {target} = grads")

    def returned(grads: Mapping[str, str]) -> str:
        found = []
        for arg in kernel.inputs:
            text = grads.get(arg.name, "None")
            is_list = kernel.is_list(arg.name)
            found.append(
                f"tuple({text})"
                if is_list and text != "[]"
                else f"(None,) * len({safe[arg.name]})"
                if is_list
                else text
            )
        return _tuple(found)

    lines += ["    " + line for line in backward_lines(op, attrs, JAX_WORDS, returned)]
    return "\n".join(lines)
