"""Static graphs as text and drawings for ``opkit graph JOB.py``."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from opkit.cli.drawing import Arrow, Box, Drawing
from opkit.cli.programs import PlanOfProgram, ProgramGraph
from opkit.ir import Operation, Value

_ROLES = {"forward": "", "backward": "backward", "optimize": "update", "init": "initialize"}


# ---- text ------------------------------------------------------------------------------------------------------------
def program_text(graph: ProgramGraph) -> str:
    """Return a graph op by op with the user's lines, then its plans."""
    ops = graph.program.blocks[0].ops
    lines = [f"{graph.title}({', '.join(map(_described, graph.inputs))})"]
    held = [_described(value) for value in _held(ops)]
    lines += [f"  holds {item}" for item in held]
    rows = [(_ROLES.get(op.role, op.role), _op_text(op), _where(op)) for op in ops]
    width = min(max((len(text) for _, text, _ in rows), default=0), 100)
    before = ""
    for role, text, where in rows:
        if role != before:
            lines.append(f"  # {role or 'forward'}")
            before = role
        lines.append(f"  {text:<{width}}  # {where}" if where else f"  {text}")
    if graph.fetches:
        lines.append(f"  returns {', '.join(value.name for value in graph.fetches)}")
    if graph.physicals:
        from opkit.cli.device_forms import device_lines

        lines += [line for physical in graph.physicals for line in device_lines(physical)]
    elif not graph.plans:
        lines += ["", "  # no plan: the script did not run it"]
    for plan in graph.plans:
        title, _, body = plan.source.partition("\n")
        lines += ["", *(f"  {line}" for line in (title, *body.splitlines()))]
    return "\n".join(lines)


def _op_text(op: Operation) -> str:
    outputs = ", ".join(map(_described, op.outputs))
    given = ["None" if value is None else value.name for value in op.inputs]
    while given and given[-1] == "None":
        given.pop()
    given += [f"{name}={text}" for name, text in _shown(op).items()]
    call = f"{op.label or op.type}({', '.join(given)})"
    return f"{outputs} = {call}" if outputs else call


# ---- drawing ---------------------------------------------------------------------------------------------------------
def program_drawing(graph: ProgramGraph) -> Drawing:
    """Return a graph as boxes (ops, what is fed, what is held, what is returned) and arrows (arrays)."""
    ops = graph.program.blocks[0].ops
    drawing = Drawing(graph.title)
    at: dict[Value, str] = {}
    reading = _readers(ops)
    for kind, values in (("data", graph.inputs), ("held", _held(ops))):
        for value in values:
            readers = [op for op in reading.get(value, ()) if not _changes(op, value)]
            if kind == "data" or readers:
                at[value] = f"{kind}{len(drawing.nodes)}"
                band = _band(readers[0]) if readers else "forward"
                drawing.nodes[at[value]] = Box(kind, value.name, (str(value.desc),), band)
    bands = _bands(ops)
    gradients = {value for op in ops if bands[op] == "backward" for value in op.outputs}
    for index, op in enumerate(ops):
        drawing.nodes[f"op{index}"] = _op_box(op, bands[op])
        for given in op.inputs:
            if given is not None and given in at and not _changes(op, given):
                label = str(given.desc) if at[given].startswith("op") else ""
                drawing.edges.append(Arrow(at[given], f"op{index}", label, given in gradients))
        at.update(dict.fromkeys(op.outputs, f"op{index}"))
    for index, value in enumerate(graph.fetches):
        band = drawing.nodes[at[value]].band if value in at else "forward"
        drawing.nodes[f"result{index}"] = Box("result", value.name, (), band)
        if value in at:
            drawing.edges.append(Arrow(at[value], f"result{index}", str(value.desc), value in gradients))
    if graph.physicals:
        from opkit.cli.device_forms import device_drawing

        device_drawing(drawing, graph.physicals[0], ops)
    return drawing


def _bands(ops: Sequence[Operation]) -> dict[Operation, str]:
    """Return the band of each op; what an optimizer adds for the gradients to begin with belongs to them."""
    bands = {op: _band(op) for op in ops}
    readers = _readers(ops)
    for op in reversed(ops):
        if bands[op] == "update" and "backward" in {
            bands[other] for value in op.outputs for other in readers.get(value, ())
        }:
            bands[op] = "backward"
    return bands


def _readers(ops: Sequence[Operation]) -> dict[Value, list[Operation]]:
    """Return {array: the ops that read it, in order}."""
    readers: dict[Value, list[Operation]] = {}
    for op in ops:
        for value in dict.fromkeys(op.inputs):
            if value is not None:
                readers.setdefault(value, []).append(op)
    return readers


def _op_box(op: Operation, band: str) -> Box:
    opdef: Any = op.opdef
    results = tuple(f"{value.name}: {value.desc}" if len(op.outputs) > 1 else str(value.desc) for value in op.outputs)
    attrs = (f"{name} = {text}" for name, text in _shown(op).items() if not text.startswith("'<"))
    return Box("op", op.label or op.type, (*results, *attrs), band, bool(opdef.is_user), _where(op), op.scope)


def _changes(op: Operation, value: Value) -> bool:
    """Return whether an update changes what is held, which its own box then tells."""
    is_update = op.role == "optimize" and value.variable.persistable
    return is_update and any(made.variable is value.variable for made in op.outputs)


def _band(op: Operation) -> str:
    return {"backward": "backward", "optimize": "update"}.get(op.role, "forward")


# ---- JSON ------------------------------------------------------------------------------------------------------------
def program_json(graph: ProgramGraph) -> dict[str, object]:
    """Return a graph as plain data."""
    ops = graph.program.blocks[0].ops
    found: dict[str, object] = {
        "title": graph.title,
        "inputs": _descs(graph.inputs),
        "holds": _descs(_held(ops)),
        "ops": [_op_json(op) for op in ops],
        "returns": [value.name for value in graph.fetches],
        "plans": [_plan_json(plan) for plan in graph.plans],
    }
    if graph.physicals:
        from opkit.cli.device_forms import device_json

        found["on_devices"] = [device_json(physical) for physical in graph.physicals]
    return found


def _op_json(op: Operation) -> dict[str, object]:
    where = op.where
    return {
        "type": op.type,
        "label": op.label or op.type,
        "role": op.role,
        "inputs": [None if value is None else value.name for value in op.inputs],
        "outputs": _descs(op.outputs),
        "attrs": {name: _plain(value) for name, value in _attrs(op).items()},
        "where": None if where is None else {"file": _path(where.file), "line": where.line},
    }


def _plan_json(item: PlanOfProgram) -> dict[str, object]:
    plan = item.plan
    return {
        "fed": {value.variable.name: str(plan.known.get(value, value.desc)) for value in plan.feeds},
        "returns": [None if value is None else value.name for value in item.fetches],
        "sizes": "these" if plan.is_exact else "any",
        "ops": len(plan.ops),
        "constants": len(plan.constants),
        "source": item.source,
    }


# ---- values ----------------------------------------------------------------------------------------------------------
def _described(value: Value) -> str:
    return f"{value.name}: {value.desc}"


def _descs(values: Sequence[Value]) -> dict[str, str]:
    return {value.name: str(value.desc) for value in values}


def _held(ops: Sequence[Operation]) -> list[Value]:
    """Return what the scope holds and an op reads before any writes it, in the order of the reading."""
    made = {value for op in ops for value in op.outputs}
    read = dict.fromkeys(value for op in ops for value in op.inputs if value is not None)
    return [value for value in read if value.variable.persistable and value not in made]


def _attrs(op: Operation) -> Mapping[str, Any]:
    return {name: value for name, value in op.attrs.items() if name != "device_sub_tag"}


def _shown(op: Operation) -> dict[str, str]:
    """Return the attributes that are shown, as short texts: not those of a built-in op that have their defaults."""
    opdef: Any = op.opdef
    usual = {} if opdef.is_user else {attr.name: _plain(attr.default) for attr in opdef.attrs}
    given = {name: _plain(value) for name, value in _attrs(op).items()}
    texts = {name: repr(value) for name, value in given.items() if not (name in usual and usual[name] == value)}
    return {name: text if len(text) <= 60 else text[:57] + "..." for name, text in texts.items()}


def _plain(value: Any) -> Any:
    """Return an attribute as JSON has it; NaN and infinity as text, what it has no form for by its type."""
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return str(value)
    if isinstance(value, (bool, int, float, str, type(None))):
        return value
    if isinstance(value, (tuple, list)):
        return [_plain(item) for item in value]
    return f"<{type(value).__name__}>"


def _where(op: Operation) -> str:
    return "" if op.where is None else f"{_path(op.where.file)}:{op.where.line}"


def _path(file: str) -> str:
    here = os.getcwd() + os.sep
    return file[len(here) :] if file.startswith(here) else file
