"""Jobs on several devices as text, drawing and JSON for ``opkit graph JOB.py``: ways, lays, and the bytes that move."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from opkit.cli.drawing import Drawing
from opkit.distribute import HOST, Lay, Physical, traffic
from opkit.distribute.choice import Chosen
from opkit.distribute.physical import Step
from opkit.distribute.stages import Change
from opkit.ir import Operation, to_numpy
from opkit.sharding import DeviceGroup


def device_lines(physical: Physical) -> list[str]:
    """Return how a job runs on devices, stage by stage."""
    total = sum(_bytes(change, physical) for step in physical.steps for change in step.changes)
    lines = ["", f"  # on {len(physical.devices)} devices; {total:,} bytes move in a run where devices share no memory"]
    for number, step in enumerate(physical.steps, 1):
        lines.append(f"  # stage {number}")
        changes = map(partial(_change, physical), step.changes)
        lines += [f"  {item['value']}: {item['from']} => {item['to']}  # {item['bytes']:,} bytes" for item in changes]
        for chosen in _chosen(physical, step):
            reason = f"  # {chosen.reason}" if chosen.reason and len(chosen.devices) == 1 else ""
            lines.append(f"  {_op(chosen.op)}: {chosen.way} on {_devices(chosen.devices)}{reason}")
    return lines


def device_json(physical: Physical) -> dict[str, object]:
    """Return how a job runs on devices as plain data."""
    return {
        "devices": [str(device) for device in physical.devices],
        "variables": {name: _lay(lay) for name, lay in physical.choice.homes.items()},
        "stages": [
            {
                "changes": [_change(physical, change) for change in step.changes],
                "ops": [
                    {
                        "op": chosen.op.label or chosen.op.type,
                        "outputs": [value.name for value in chosen.op.outputs],
                        "signature": str(chosen.way),
                        "devices": _devices(chosen.devices),
                        "reason": chosen.reason,
                    }
                    for chosen in _chosen(physical, step)
                ],
            }
            for step in physical.steps
        ],
    }


def device_drawing(drawing: Drawing, physical: Physical, ops: list[Operation]) -> None:
    """Add to a drawing of a job's ops how each runs, and to its arrows what moves."""
    index = {op: number for number, op in enumerate(ops)}
    moved: dict[tuple[str, str], str] = {}
    changes = {(change.value, change.target): change for step in physical.steps for change in step.changes}
    for chosen in physical.choice.ops:
        name = f"op{index[chosen.op]}"
        box = drawing.nodes[name]
        drawing.nodes[name] = replace(box, lines=(*box.lines, f"{chosen.way} on {_devices(chosen.devices)}"))
        for position, value in enumerate(chosen.op.inputs):
            if value is None or value.producer is None or chosen.way.inputs[position] is None:
                continue
            change = changes.get((value, chosen.lay(position)))
            if change is not None and value.producer in index:
                text = f"{change.source.sbp} => {change.target.sbp}, {_bytes(change, physical):,} bytes"
                moved[f"op{index[value.producer]}", name] = text
    for number, arrow in enumerate(drawing.edges):
        if (arrow.start, arrow.end) in moved:
            drawing.edges[number] = replace(arrow, text=f"{arrow.text} {moved[arrow.start, arrow.end]}")


def _chosen(physical: Physical, step: Step) -> Iterator[Chosen]:
    inside = {origin for local in step.locals.values() for origin, _ in local.local.origins}
    return (chosen for chosen in physical.choice.ops if id(chosen.op) in inside)


def _change(physical: Physical, change: Change) -> dict[str, Any]:
    return {
        "value": change.value.name,
        "from": _lay(change.source),
        "to": _lay(change.target),
        "bytes": _bytes(change, physical),
    }


def _bytes(change: Change, physical: Physical) -> int:
    desc = physical.known[change.value]
    return traffic(desc.shape, to_numpy(desc.dtype).itemsize, change.source, change.target)


def _op(op: Operation) -> str:
    outputs = ", ".join(value.name for value in op.outputs)
    return f"{outputs} = {op.label or op.type}" if outputs else op.label or op.type


def _lay(lay: Lay) -> str:
    return f"{lay.sbp} on {_devices(lay.devices)}"


def _devices(devices: DeviceGroup) -> str:
    return "the script's process" if devices == HOST else str(devices).removeprefix("cpu ")
