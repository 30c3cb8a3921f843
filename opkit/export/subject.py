"""From a loaded op directory to ops that can leave: kernels, wiring, and examples with what the kernels give.

Nothing is traced or written here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import ModuleType
from typing import Any

import numpy as np

from opkit.checker import Arg, Attr, Case, Checkable, Options, constants_of
from opkit.checker.collect import collect
from opkit.checker.model.trial import Trial
from opkit.errors import KernelError, OpkitError, ProjectError
from opkit.export.model import Example, ExportError, ExportKernel, ExportOp
from opkit.export.provers.agreement import bound_of
from opkit.export.purity import refuse_impure
from opkit.export.signature import safe_name
from opkit.export.wiring import describe, plan_at, read_wirings, refused_near
from opkit.ir import TensorDesc
from opkit.listed import each, listed, present
from opkit.ops.core.types import Arrays, Attrs
from opkit.project.gradient import run_builtin
from opkit.project.loading import LoadedOps, with_kernels
from opkit.project.user_op import UserOp, is_list
from opkit.spec import CompiledOp

#: Cases of a proof, at most.
MOST_EXAMPLES = 24


def subject_of(loaded: LoadedOps, name: str) -> ExportOp:
    """Return a forward op of a loaded directory with its examples.

    Args:
        loaded: the directory; its C++ kernels stay, and those in Python are run.
        name: the op type.

    Raises:
        ProjectError: the op cannot be used.
        ExportError: it has a form that cannot leave, is not a function of its arguments, or no inputs were found
            that it takes.
    """
    loaded = with_kernels(loaded, None)
    op = loaded.ops[name]
    if op.compiled is None or op.kernel is None or op.trouble:
        raise ProjectError(f"op {name!r} cannot be used: {op.trouble}", where=op.where, help=op.trouble_help)
    kernel = ExportKernel(op, op.compiled)
    for arg in op.compiled.outputs:
        if is_list(arg) or arg.is_optional:
            raise ExportError(
                f"op {name!r} gives {'a list of values' if is_list(arg) else 'an optional value'} as {arg.name!r}: "
                "how many there are is said where the op is built, which an exported function has no place for",
                where=op.compiled.span.location,
            )
    module = loaded.cases()
    cases = _cases(loaded, op, op.compiled, module)
    wirings = read_wirings(op, [(case.inputs, case.attrs) for case in cases])
    rng = np.random.default_rng(0)
    made = [_example(kernel, case, bool(wirings), rng) for case in _varied(kernel, cases)]
    examples = tuple(item for item in made if _is_determined(item)) or tuple(made)
    stem = safe_name(name.removesuffix("_forward"))
    exceptions = tuple(
        f"{key} = {getattr(module, key)!r}"
        for key in ("TOLERANCE", "ALLOW", "NONDIFFERENTIABLE_OUTPUTS")
        if module is not None and getattr(module, key, None)
    )
    if module is not None and getattr(module, "SURROGATE", None):
        exceptions += ("SURROGATE: the gradient is that of another function, on purpose",)
    found = ExportOp(
        stem,
        loaded.directory.name,
        kernel,
        wirings,
        examples,
        exceptions,
        loaded.directory.kernel.read_text(encoding="utf-8"),
        refused_near(kernel, cases),
    )
    refuse_impure(found.kernels, made)
    return found


def run_kernel(op: UserOp, arrays: Sequence[Any], attrs: Attrs) -> list[np.ndarray]:
    """Run a user kernel on arrays and return one array per result, as it returned them.

    Raises:
        KernelError: a result is not an array.
        Exception: what the kernel raises.
    """
    if op.kernel is None:
        raise KernelError(f"op {op.name!r} has no Python kernel: {op.trouble}", where=op.where)
    shown = {name: value for name, value in attrs.items() if name != "device_sub_tag"}
    with np.errstate(all="ignore"):
        result = op.kernel.call(tuple(arrays), shown)
    items = listed(result)
    for item in items:
        if not isinstance(item, (np.ndarray, np.generic)):
            raise KernelError(
                f"kernel {op.name!r} returned a {type(item).__name__}, expected a numpy array", where=op.kernel.where
            )
    return [np.asarray(item) for item in items]


# --- cases
def _cases(loaded: LoadedOps, op: UserOp, compiled: CompiledOp, module: ModuleType | None) -> list[Case]:
    def forward(arrays: Mapping[str, Any], attrs: Attrs) -> list[np.ndarray]:
        return run_kernel(op, [arrays.get(arg.name) for arg in compiled.inputs], attrs)

    def infer(descs: Mapping[str, Sequence[TensorDesc]], attrs: Attrs) -> list[TensorDesc]:
        given = {name: list(items) for name, items in descs.items() if items}
        inferred = compiled.infer(given, compiled.check_attrs(dict(attrs)))
        return [desc for arg in compiled.outputs for desc in inferred.get(arg.name, [])]

    kernels = [item.kernel.function for item in loaded.ops.values() if item.kernel is not None]
    checkable = Checkable(
        op.name,
        tuple(Arg(arg.name, arg.is_optional, is_list(arg), arg.count) for arg in compiled.inputs),
        tuple(Arg(arg.name, arg.is_optional) for arg in compiled.outputs),
        forward,
        attrs=tuple(
            Attr(spec.name, spec.type, spec.default)
            for spec in compiled.attrs.values()
            if spec.name != "device_sub_tag"
        ),
        infer=infer,
        cases=_of_op(module, op.name),
        constants=constants_of(kernels),
    )
    found = collect(checkable, Options(), Trial(checkable))
    if not found.cases:
        reason = "; ".join(item.message for item in found.findings) or "the definition takes none that were tried"
        raise ExportError(f"no inputs were found for op {op.name!r}: {reason}", where=op.where, help="add a cases file")
    return found.cases


def _of_op(module: ModuleType | None, name: str) -> Callable[[np.random.Generator], Iterator[Mapping[str, Any]]] | None:
    cases = getattr(module, "cases", None)
    if cases is None:
        return None

    def drawn(rng: np.random.Generator) -> Iterator[Mapping[str, Any]]:
        for case in cases(rng):
            if case.get("op", name) == name:
                yield {key: value for key, value in case.items() if key != "op"}

    return drawn


def _varied(kernel: ExportKernel, cases: Sequence[Case]) -> list[Case]:
    """Choose cases that differ in ranks, dtypes, sizes of 0 and 1, attributes and regimes."""
    offered: list[Case] = []
    for case in cases:
        offered.append(case)
        for dtype in ("float64", "float32"):
            other = _cast(case, dtype)
            if other is not None and _is_taken(kernel, other):
                offered.append(other)
    chosen: list[Case] = []
    seen: set[Any] = set()
    for traits in (_signature, _features):
        for case in offered:
            new = traits(case) - seen
            if new and len(chosen) < MOST_EXAMPLES and not any(case is item for item in chosen):
                seen |= new
                chosen.append(case)
    for case in offered:
        if len(chosen) < min(MOST_EXAMPLES, 8) and not any(case is item for item in chosen):
            chosen.append(case)
    return chosen


def _signature(case: Case) -> set[Any]:
    arrays = [(name, present(value)) for name, value in case.inputs.items()]
    ranks = tuple((name, *(item.ndim for item in items)) for name, items in arrays)
    dtypes = tuple((name, *(item.dtype.name for item in items)) for name, items in arrays)
    return {(ranks, dtypes), *((("attr", name, repr(value))) for name, value in case.attrs.items())}


def _features(case: Case) -> set[Any]:
    found: set[Any] = {("regime", case.regime)}
    for name, given in case.inputs.items():
        found.add((name, len(present(given))))
        for value in present(given):
            found.add((name, value.ndim, tuple(min(size, 2) for size in value.shape)))
            found.add((name, "layout", value.flags.c_contiguous))
    sizes = [value.shape for given in case.inputs.values() for value in present(given)]
    found.add(("alike", tuple(shape == sizes[0] for shape in sizes)))
    return found


def _cast(case: Case, dtype: str) -> Case | None:
    """Return a case in another float dtype, None where it holds no other floats."""
    arrays = [value for given in case.inputs.values() for value in present(given)]
    if not any(value.dtype.kind == "f" and value.dtype != dtype for value in arrays):
        return None
    inputs = {
        name: each(lambda value: value.astype(dtype) if value.dtype.kind == "f" else value, given)
        for name, given in case.inputs.items()
    }
    return Case(inputs, case.attrs, case.regime, case.seed, case.origin, case.label)


def _is_taken(kernel: ExportKernel, case: Case) -> bool:
    """Return whether the definition takes a case and the kernel keeps its promise there."""
    descs = {name: items for name, value in case.inputs.items() if (items := describe(value))}
    try:
        promised = kernel.compiled.infer(descs, dict(case.attrs))
        results = run_kernel(kernel.op, _args(kernel, case.inputs), case.attrs)
    except Exception:  # user code, or a definition that refuses
        return False
    flat = [desc for arg in kernel.outputs for desc in promised.get(arg.name, [])]
    return [(desc.shape, desc.dtype) for desc in flat] == [(item.shape, item.dtype.name) for item in results]


def _args(kernel: ExportKernel, inputs: Mapping[str, Any]) -> list[Any]:
    return [inputs.get(arg.name) for arg in kernel.inputs]


# --- examples
def _example(kernel: ExportKernel, case: Case, has_gradient: bool, rng: np.random.Generator) -> Example:
    calls: dict[str, Any] = {kernel.name: [(tuple(_args(kernel, case.inputs)), case.attrs)]}
    outputs = tuple(np.array(item) for item in run_kernel(kernel.op, _args(kernel, case.inputs), case.attrs))
    douts: tuple[np.ndarray, ...] = ()
    if has_gradient:
        douts = tuple(
            rng.uniform(-1, 1, item.shape).astype(item.dtype) if item.dtype.kind == "f" else np.zeros_like(item)
            for item in outputs
        )
    grads = _gradients(kernel, case, outputs, douts, calls) if has_gradient else {}
    shapes = ", ".join(
        f"{name} {' '.join(f'{value.dtype.name}{list(value.shape)}' for value in present(given)) or 'absent'}"
        for name, given in case.inputs.items()
    )
    attrs = "".join(f", {name}={value!r}" for name, value in case.attrs.items())
    slack = _slack(kernel, case, outputs, douts, grads)
    return Example(case.inputs, case.attrs, outputs, douts, grads, shapes + attrs, slack, calls)


def _slack(
    kernel: ExportKernel,
    case: Case,
    outputs: Arrays,
    douts: Arrays,
    grads: Mapping[str, Any],
) -> dict[str, float]:
    """Return how far results move where each float input moves by its last bit; frameworks may differ by as much."""
    moved = Case({name: each(_moved, value) for name, value in case.inputs.items()}, case.attrs)
    try:
        others = run_kernel(kernel.op, _args(kernel, moved.inputs), case.attrs)
        slopes = _gradients(kernel, moved, others, douts, {}) if grads else {}
    except Exception:  # one bit further lies outside the domain: nothing is known, nothing is allowed
        return {}
    pairs = {f"output {index}": (one, other) for index, (one, other) in enumerate(zip(outputs, others))}
    pairs |= dict(zip(_named(grads), zip(_named(grads).values(), _named(slopes).values())))
    with np.errstate(all="ignore"):
        return {
            name: float(np.nan_to_num(np.abs(one - other), nan=0.0, posinf=0.0).max(initial=0.0))
            for name, (one, other) in pairs.items()
            if one.dtype.kind == "f" and one.shape == other.shape
        }


def _is_determined(example: Example) -> bool:
    """Return whether the last bit of the inputs leaves the results within a thousand times the proof's bound."""
    results = {f"output {index}": item for index, item in enumerate(example.outputs)}
    results |= _named(example.grads)
    return all(16 * slack <= 1000 * bound_of(results[name]) for name, slack in example.slack.items())


def _named(grads: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Return each gradient by its name in a proof."""
    found: dict[str, np.ndarray] = {}
    for name, given in grads.items():
        is_list = isinstance(given, list)
        found |= {
            f"gradient {name}{f'[{place}]' if is_list else ''}": item for place, item in enumerate(present(given))
        }
    return found


def _moved(value: Any) -> Any:
    return np.nextafter(value, np.inf, dtype=value.dtype) if value.dtype.kind == "f" else value


def _gradients(
    kernel: ExportKernel,
    case: Case,
    outputs: Arrays,
    douts: Arrays,
    calls: dict[str, Any],
) -> dict[str, Any]:
    """Run the gradient of an op on arrays, user kernels and built-in ones as they are."""
    plan = plan_at(kernel.op, case.inputs, case.attrs)
    values: dict[Any, Any] = {}
    for name, value in case.inputs.items():
        values |= {f"in:{name}_{index}": item for index, item in enumerate(present(value))}
    for arg, item, dout in zip(kernel.outputs, outputs, douts):
        values[f"out:{arg.name}_0"] = item
        values[f"dout:{arg.name}_0"] = dout
    for step in plan.steps:
        op = kernel.op.registry.get(step.type)
        if isinstance(op, UserOp) and op.compiled is not None:
            inputs = {arg: [values[blob] for blob in blobs] for arg, blobs in step.inputs.items()}
            args = [
                inputs.get(arg.name, []) if is_list(arg) else (inputs.get(arg.name) or [None])[0]
                for arg in op.compiled.inputs
            ]
            attrs = op.compiled.check_attrs(dict(step.attrs))
            calls.setdefault(op.name, []).append((tuple(args), attrs))
            results = run_kernel(op, args, attrs)
            blobs = [blob for arg in op.compiled.outputs for blob in step.outputs.get(arg.name, ())]
            values.update(zip(blobs, results))
            continue
        values.update(run_builtin(kernel.op.registry, step, values))
    try:
        found: dict[str, Any] = {}
        for (name, _), blob in sorted(plan.bindings.items()):
            if any(is_list(arg) and arg.name == name for arg in kernel.inputs):
                found.setdefault(name, []).append(np.array(values[blob]))
            else:
                found[name] = np.array(values[blob])
        return found
    except KeyError as error:
        raise OpkitError(
            f"the gradient of {kernel.name!r} reads {error.args[0]!r}, which is not computed anywhere"
        ) from error
