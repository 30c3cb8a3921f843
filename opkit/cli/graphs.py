"""Gradient graphs for ``opkit graph``: built for shapes that the definitions accept, and shown as text."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator, Mapping, Sequence

from opkit.cli.drawing import Arrow, Box, Drawing
from opkit.errors import InferError, UsageError, unknown
from opkit.ir import TensorDesc
from opkit.project import GradientPlan, LoadedOps, UserOp, plan_of
from opkit.record import record
from opkit.spec import ArgSpec, Blob

Descs = dict[str, list[TensorDesc]]
#: Seconds of the processor that may be spent on looking for shapes of one op: a definition may be slow to refuse each.
_PATIENCE = 3.0
_SIZES = ((2, 3), (2,), (2, 2), (3, 2), (2, 3, 4, 4), ())


@record
class OpGraph:
    """The gradient of one op for one signature.

    Args:
        op: the forward op.
        inputs: its inputs' descriptions.
        outputs: its outputs' descriptions.
        plan: the backward ops.
    """

    op: UserOp
    inputs: Descs
    outputs: Descs
    plan: GradientPlan


def graphs_of(
    loaded: Sequence[LoadedOps], shapes: Mapping[str, tuple[int, ...]], dtype: str
) -> tuple[list[OpGraph], list[str]]:
    """Build the gradient graph of every op that has one.

    Returns:
        the graphs, and a message for each op whose graph cannot be built.
    """
    found: list[OpGraph] = []
    troubles: list[str] = []
    for op in [op for one in loaded for op in one.ops.values() if op.grad is not None]:
        if not op.has_gradient:
            troubles.append(f"{op.name}: its gradient has errors{op.grad_trouble}")
            continue
        try:
            found.append(_graph(op, shapes, dtype))
        except InferError as error:
            troubles.append(f"{op.name}: {error}")
    return found, troubles


def _graph(op: UserOp, shapes: Mapping[str, tuple[int, ...]], dtype: str) -> OpGraph:
    if op.compiled is None or op.grad is None:
        raise InferError("its registration has errors")
    known = [arg.name for arg in op.compiled.inputs]
    for name in shapes:
        if name not in known:
            raise unknown(f"--shape: op {op.name!r} has no input", name, known, has="it has").error(UsageError)
    last: InferError | None = None
    end = time.process_time() + _PATIENCE
    is_given = shapes.keys() >= {*known}
    help = "give other shapes, or another --dtype" if is_given else "give the shapes: --shape NAME=SIZES for each input"
    for descs in _candidates(op.compiled.inputs, shapes, dtype):
        if time.process_time() > end:
            said = f"no shapes that its definitions accept were found in {_PATIENCE:g} s"
            raise InferError(f"{said} ({last.message if last else 'none were tried'})", help=help)
        try:
            outputs = op.compiled.infer(descs)
            graph = op.grad.build(descs, op_name=op.name.removesuffix("_forward"))
            return OpGraph(op, descs, outputs, plan_of(graph))
        except InferError as error:
            last = last or error
    said = "its definitions accept none of the inputs that were tried"
    raise InferError(f"{said} ({last.message if last else 'none'})", help=help)


def _candidates(inputs: Sequence[ArgSpec], shapes: Mapping[str, tuple[int, ...]], dtype: str) -> Iterator[Descs]:
    options = [
        list(itertools.product([shapes[arg.name]] if arg.name in shapes else _SIZES, (dtype, "int32")))
        for arg in inputs
    ]
    same = [choice for choice in itertools.product(*options) if len(set(choice)) == 1]
    for choice in itertools.chain(same, itertools.islice(itertools.product(*options), 20_000)):
        given = zip(inputs, choice)
        yield {arg.name: [TensorDesc(*item)] * max(arg.count, 1) for arg, item in given if not arg.is_optional}


def gradient_text(graph: OpGraph) -> str:
    """Return a gradient graph op by op."""
    lines = [f"{graph.op.name}({_signature(graph.inputs)}) -> {_signature(graph.outputs)}"]
    for step in graph.plan.steps:
        inputs = ", ".join(f"{arg}={'+'.join(blobs)}" for arg, blobs in step.inputs.items())
        attrs = "".join(f", {name}={value!r}" for name, value in step.attrs.items() if name != "device_sub_tag")
        outputs = ", ".join(blob for blobs in step.outputs.values() for blob in blobs)
        lines.append(f"  {outputs} = {step.type}({inputs}{attrs})")
    for (name, index), blob in graph.plan.bindings.items():
        lines.append(f"  gradient of {name}_{index} is {blob}")
    bound = {name for name, _ in graph.plan.bindings}
    lines += [f"  {name} has no gradient" for name in graph.inputs if name not in bound]
    return "\n".join(lines)


def _signature(descs: Mapping[str, Sequence[TensorDesc]]) -> str:
    return ", ".join(f"{name}: {desc}" for name, items in descs.items() for desc in items)


def gradient_drawing(graph: OpGraph) -> Drawing:
    """Return an op and its gradient as boxes (both ops, what they read and give) and arrows (arguments)."""
    drawing = Drawing(f"{graph.op.name} and its gradient")
    _draw_forward(graph, drawing)
    for index, step in enumerate(graph.plan.steps):
        given = [(arg, blob, _node(graph, drawing, blob)) for arg, blobs in step.inputs.items() for blob in blobs]
        is_custom = isinstance(graph.op.registry.get(step.type), UserOp)
        drawing.nodes[f"op{index}"] = Box("op", step.type, _shown(step.attrs), "backward", is_custom)
        drawing.edges += [Arrow(node, f"op{index}", arg, blob.kind not in ("in", "out")) for arg, blob, node in given]
    for (name, place), blob in graph.plan.bindings.items():
        node = _node(graph, drawing, blob)
        described = str(graph.inputs[name][place])
        drawing.nodes[f"d_{name}_{place}"] = Box("result", f"gradient of {name}_{place}", (described,), "backward")
        drawing.edges.append(Arrow(node, f"d_{name}_{place}", "", True))
    return drawing


def _draw_forward(graph: OpGraph, drawing: Drawing) -> None:
    def draw(kind: str, side: str, described: Descs) -> None:
        for name, items in described.items():
            for place, desc in enumerate(items):
                node, text = f"{side}_{name}_{place}", name if len(items) == 1 else f"{name}_{place}"
                drawing.nodes[node] = Box(kind, text, (str(desc),))
                ends = (node, "forward") if side == "in" else ("forward", node)
                drawing.edges.append(Arrow(*ends, name))

    draw("data", "in", graph.inputs)
    specs = graph.op.compiled.attrs.values() if graph.op.compiled is not None else ()
    lines = _shown({spec.name: spec.default for spec in specs})
    drawing.nodes["forward"] = Box("op", graph.op.name, lines, is_custom=True)
    draw("result", "out", graph.outputs)


def _shown(attrs: Mapping[str, object]) -> tuple[str, ...]:
    return tuple(f"{name} = {value!r}" for name, value in attrs.items() if name != "device_sub_tag")


def _node(graph: OpGraph, drawing: Drawing, blob: Blob) -> str:
    for index, step in enumerate(graph.plan.steps):
        if any(blob in blobs for blobs in step.outputs.values()):
            return f"op{index}"
    name = f"{blob.kind}_{blob.arg}_{blob.place}"
    described = graph.outputs.get(blob.arg, [])
    lines = (str(described[blob.place]),) if blob.place < len(described) else ()
    drawing.nodes.setdefault(name, Box("data", f"gradient of {blob.arg}_{blob.place}", lines, "backward"))
    return name


def gradient_json(graph: OpGraph) -> dict[str, object]:
    """Return a gradient graph as plain data."""
    return {
        "op": graph.op.name,
        "inputs": {name: [str(desc) for desc in items] for name, items in graph.inputs.items()},
        "outputs": {name: [str(desc) for desc in items] for name, items in graph.outputs.items()},
        "ops": [
            {"name": step.name, "type": step.type, "inputs": step.inputs, "outputs": step.outputs, "attrs": step.attrs}
            for step in graph.plan.steps
        ],
        "bindings": {f"{name}_{index}": blob for (name, index), blob in graph.plan.bindings.items()},
        "reads": sorted(graph.plan.reads),
    }
