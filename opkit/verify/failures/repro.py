"""``--repro ID``: a remembered failure as an .npz and a script of some twenty lines; opkit takes no part in it.

The script runs the user's own kernels where they can be run without opkit; else it shows what was recorded.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np

from opkit.atomic import write_together
from opkit.errors import OpkitError
from opkit.listed import present
from opkit.paths import StrPath
from opkit.project.directory import op_directory_of
from opkit.project.gradient import plan_of
from opkit.record import record
from opkit.spec import BackwardOp, Blob, compile_spec, forward_blob
from opkit.verify.failures.framework_repro import framework_lines
from opkit.verify.failures.store import Failure, FailureStore, packed
from opkit.verify.options import RunOptions
from opkit.verify.subjects.raw_kernel import TAG, describe

#: How the script calls what forward has, by the kind of blob.
_PREFIXES = {"in": "in_", "out": "out_", "dout": "d_"}
#: A backward kernel: its function, the blobs of its inputs and outputs (None: left out), and its attributes.
_Step = tuple[str, tuple[Blob | None, ...], tuple[Blob | None, ...], Mapping[str, Any]]


def write_repro(failure_id: str, folder: StrPath = ".", options: RunOptions | None = None) -> tuple[Path, Path]:
    """Write a failure's data and script.

    Args:
        failure_id: as a report shows it.
        folder: where to write ``repro_ID.npz`` and ``repro_ID.py``.
        options: time and memory limits for running the user's forward once more, and the cache.

    Returns:
        the paths of the data and of the script.

    Raises:
        UsageError: no failure is remembered under that id.
        OSError: the files cannot be written.
    """
    options = options or RunOptions()
    failure = FailureStore(options.cache).find(failure_id)
    stem = Path(folder) / f"repro_{failure.id}"
    recipe = _recipe(failure)
    arrays = _named_arrays(failure)
    if recipe is not None:
        needs, body = "numpy", _live(failure, recipe)
    else:
        needs, body = framework_lines(failure, options) or ("numpy", _recorded(failure))
        arrays.update(failure.slopes)
    data, script = stem.with_suffix(".npz"), stem.with_suffix(".py")
    text = "\n".join([*_head(failure, needs), *body]) + "\n"
    contents = {data.name: packed(arrays), script.name: text.encode(errors="backslashreplace")}
    write_together(data.parent, stem.name, contents)
    return data, script


# --- what the script needs to know
@record
class _Recipe:
    """How an op of a directory runs without opkit.

    Args:
        kernel: the kernel file.
        forward: name of the forward function in it.
        inputs: forward's arguments; (name, number of values), None for a single one.
        outputs: names of forward's outputs.
        steps: the backward kernels in order, None where the gradient cannot be run by kernels alone.
        gradient: the blob bound to the failing input, None where there is none.
    """

    kernel: str
    forward: str
    inputs: tuple[tuple[str, int | None], ...]
    outputs: tuple[str, ...]
    steps: tuple[_Step, ...] | None
    gradient: Blob | None


def _recipe(failure: Failure) -> _Recipe | None:
    """Return how to run the op's kernels, None where it is not, or no longer, an op of a directory."""
    root = failure.facts.get("root")
    if not failure.facts.get("dir") or not root or not os.path.isdir(root):
        return None
    directory = op_directory_of(root)
    op = str(failure.facts["op"])
    result = compile_spec(directory.spec, include_dirs=(directory.path,))
    compiled = result.ops.get(op)
    if compiled is None or not directory.kernel.is_file() or any(arg.is_variadic for arg in compiled.outputs):
        return None
    values = failure.case.inputs
    inputs = tuple(
        (arg.name, len(values[arg.name]) if isinstance(values.get(arg.name), list) else None) for arg in compiled.inputs
    )
    steps, gradient = _steps(failure, directory.name, result)
    function = op[len(directory.name) + 1 :] or "forward"
    names = tuple(arg.name for arg in compiled.outputs)
    return _Recipe(os.path.abspath(directory.kernel), function, inputs, names, steps, gradient)


def _steps(failure: Failure, name: str, result: Any) -> tuple[tuple[_Step, ...] | None, Blob | None]:
    op, wanted = str(failure.facts["op"]), failure.key[1]
    compiled, grad = result.ops[op], result.grads.get(op)
    if grad is None:
        return None, None
    descs = {key: found for key, value in failure.case.inputs.items() if (found := describe(value))}
    try:
        outputs = compiled.infer(descs, dict(failure.case.attrs))
        graph = grad.build(descs, dict(failure.case.attrs), outputs=outputs, op_name=op)
    except OpkitError:
        return None, None
    arg = (wanted.partition("[")[0], 0) if wanted else next(iter(graph.gradients), ("", 0))
    plan = plan_of(graph, {arg})
    steps: list[_Step] = []
    for step in plan.steps:
        made = _step(step, name, result)
        if made is None:
            return None, None
        steps.append(made)
    return tuple(steps), plan.bindings.get(arg)


def _step(step: BackwardOp, name: str, result: Any) -> _Step | None:
    compiled = result.ops.get(step.type)
    if compiled is None or any(arg.is_variadic for arg in compiled.inputs):
        return None
    given = tuple(next(iter(step.inputs.get(arg.name, ())), None) for arg in compiled.inputs)
    made = tuple(next(iter(step.outputs.get(arg.name, ())), None) for arg in compiled.outputs)
    attrs = {key: value for key, value in compiled.check_attrs(dict(step.attrs)).items() if key != TAG}
    return step.type[len(name) + 1 :] or "forward", given, made, attrs


def _named_arrays(failure: Failure) -> dict[str, np.ndarray]:
    arrays: dict[str, np.ndarray] = {}
    for name, value in failure.case.inputs.items():
        arrays |= {f"{name}_{index}": item for index, item in enumerate(present(value))}
    for index, dout in enumerate(failure.douts):
        arrays[f"dout_{index}"] = dout
    return arrays


# --- the script's text
def _head(failure: Failure, needs: str) -> list[str]:
    result = failure.facts["result"]
    about = f" of d({result['output']})/d({result['input']})" if result["input"] and result["output"] else ""
    within = "" if result["bound"] is None else f" within {result['bound']}"
    expected = f"gradcheck expected {result['expected']}{within}, actual {result['actual']}"
    summary = [result["message"]] if result["message"] else []
    if result["expected"] is not None or result["actual"] is not None:
        summary.append(expected)
    text = "\n".join([f"{failure.facts['op']}: {result['code']} {result['check']}{about}.", "", *summary])
    text = text.replace('"""', "'''").rstrip("\\")
    return [f'r"""{text}\n\nWritten by opkit gradcheck --repro {failure.id}; needs {needs} only.\n"""', ""]


def _recorded(failure: Failure) -> list[str]:
    lines = ["import numpy as np", "", 'data = np.load(__file__[:-3] + ".npz")']
    lines += ["for name in data.files:", "    print(name, data[name].dtype, data[name].shape, data[name].ravel()[:6])"]
    if failure.slopes:
        shown = "step {step:.0e}: slope from the left {left:.10g}, from the right {right:.10g}"
        lines += ["for step, left, right in zip(data['steps'], data['left'], data['right']):", f'    print(f"{shown}")']
    return [*lines, "print(__doc__)"]


def _live(failure: Failure, recipe: _Recipe) -> list[str]:
    """Return the lines that run the user's kernels; ``step.kernel(args)`` in the user's own file."""
    lines = f"""\
import runpy

import numpy as np

kernel = runpy.run_path({recipe.kernel!r})
data = np.load(__file__[:-3] + ".npz")


def run(name, attrs, *args):
    function = kernel[name]
    result = function(args, attrs) if function.__code__.co_argcount > 1 else function(args)
    return list(result) if isinstance(result, (list, tuple)) else [result]

""".split("\n")
    lines += [f"{_of('in', name)} = {_load(name, count, failure)}" for name, count in recipe.inputs]
    has_gradient = recipe.steps is not None and recipe.gradient is not None
    single = {name for name, count in recipe.inputs if count is None}
    if failure.facts.get("element") is not None and failure.key[1] in single:
        return [*lines, *_slopes(failure, recipe, has_gradient), "print(__doc__)"]
    return [*lines, *_facts(failure, recipe, has_gradient), "print(__doc__)"]


def _load(name: str, count: int | None, failure: Failure) -> str:
    if count is not None:
        return "[" + ", ".join(f"data['{name}_{index}']" for index in range(count)) + "]"
    return "None" if failure.case.inputs.get(name) is None else f"data[{name + '_0'!r}]"


def _call(failure: Failure, recipe: _Recipe, replaced: str = "", by: str = "") -> str:
    """Return a call of forward, one of its arguments replaced."""
    attrs = {key: value for key, value in failure.case.attrs.items() if key != TAG}
    names = [by if name == replaced else _of("in", name) for name, _ in recipe.inputs]
    return f"run({recipe.forward!r}, {attrs!r}, {', '.join(names)})"


def _forward(failure: Failure, recipe: _Recipe) -> str:
    outs = ", ".join(_of("out", name) for name in recipe.outputs)
    return f"({outs},) = {_call(failure, recipe)}"


def _backward(recipe: _Recipe) -> list[str]:
    lines = []
    for function, given, made, attrs in recipe.steps or ():
        targets = ", ".join(_name(blob) if blob else "_" for blob in made)
        values = ", ".join(_name(blob) if blob else "None" for blob in given)
        lines.append(f"({targets},) = run({function!r}, {attrs!r}, {values})")
    return lines


def _name(blob: Blob) -> str:
    """Return a blob's name as a Python identifier."""
    if blob.kind in _PREFIXES:
        return _PREFIXES[blob.kind] + blob.arg
    text = f"{blob.arg}_{blob.place}" if blob.kind == "made" else blob.arg.rpartition("/")[2]
    return "v_" + "".join(c if c.isalnum() else "_" for c in text)


def _of(kind: Literal["in", "out", "dout"], name: str) -> str:
    """Return how the script calls the one blob of an argument of forward."""
    return _name(forward_blob(kind, name, 0))


def _slopes(failure: Failure, recipe: _Recipe, has_gradient: bool) -> list[str]:
    """Return the lines that compare one entry of the Jacobian with differences from both sides.

    A gradient that uses built-in ops is shown by the number that was recorded.
    """
    which = failure.key[1].partition("[")[0]
    out = failure.key[2] if failure.key[2] in recipe.outputs else recipe.outputs[0]
    place = recipe.outputs.index(out)
    element, output = tuple(failure.facts["element"]), failure.facts.get("output_element")
    moved = _call(failure, recipe, which, "x + by * unit")
    x = _of("in", which)
    lines = [_forward(failure, recipe)]
    lines += [f"{_of('dout', name)} = np.zeros_like({_of('out', name)})" for name in recipe.outputs]
    lines += [f"at, out = {element!r}, {'...' if output is None else repr(tuple(output))}", f"d_{out}[out] = 1"]
    lines += _backward(recipe) if has_gradient else []
    lines += [f"x = {x}.astype(np.float64)", "size, unit = max(1.0, abs(x[at])), np.zeros_like(x)"]
    lines += ["at = x == x[at]  # moved together"] if failure.code == "GC106" else []
    lines += ["unit[at] = size", f"f = [{moved}[{place}][out].sum() for by in (-1e-6, 0, 1e-6)]"]
    lines += ['print("slope from the left: ", (f[1] - f[0]) / (1e-6 * size))']
    lines += ['print("slope from the right:", (f[2] - f[1]) / (1e-6 * size))']
    claimed = repr(failure.facts["result"]["actual"])
    if has_gradient and recipe.gradient is not None:
        claimed = f"np.asarray({_name(recipe.gradient)})[at].sum()"
    return [*lines, f'print("backward gives:      ", {claimed})']


def _facts(failure: Failure, recipe: _Recipe, has_gradient: bool) -> list[str]:
    """Return the lines that show what forward and backward do with the failing inputs."""
    args = [_of("in", name) for name, _ in recipe.inputs]
    outs = [_of("out", name) for name in recipe.outputs]
    lines = [f"args = [{', '.join(args)}]", "before = [np.copy(item) for item in args]", _forward(failure, recipe)]
    lines += [f"first, again = [{', '.join(outs)}], {_call(failure, recipe)}"]
    lines += ['print("forward:", [(item.dtype, item.shape, item.ravel()[:6]) for item in map(np.asarray, first)])']
    lines += ['print("same again:", all(np.array_equal(a, b, equal_nan=True) for a, b in zip(first, again)))']
    if has_gradient and recipe.gradient is not None:
        gradient = _name(recipe.gradient)
        for index, name in enumerate(recipe.outputs):
            given = f"data['dout_{index}']" if index < len(failure.douts) else f"np.ones_like({_of('out', name)})"
            lines.append(f"{_of('dout', name)} = {given}")
        lines += [*_backward(recipe), f"dx = np.copy({gradient})"]
        lines += ['print("backward:", dx.dtype, dx.shape, dx.ravel()[:6])']
        lines += [f"{_of('dout', name)} = 3 * {_of('dout', name)}" for name in recipe.outputs]
        lines += [*_backward(recipe), f'print("backward(3 dy) - 3 backward(dy):", np.ravel({gradient} - 3 * dx)[:6])']
    return [*lines, 'print("arguments unchanged:", all(np.array_equal(a, b) for a, b in zip(args, before)))']
