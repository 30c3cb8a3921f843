"""Physical: a logical program laid out over devices: stages of exchanges and of local programs, ready for an engine.

It holds no arrays and runs nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from opkit.distribute.asked import Asked
from opkit.distribute.choice import Choice, choose
from opkit.distribute.fabric import Fabric
from opkit.distribute.local import Key, Local, local_of
from opkit.distribute.stages import Change, Stage, final_lay, stages_of
from opkit.distribute.way import HOST
from opkit.ir import Program, TensorDesc, Value
from opkit.record import entity
from opkit.sharding import Device
from opkit.static.plan.layout import is_state
from opkit.static.plan.prune import prune
from opkit.static.plan.sizes import Known, resolve_sizes


@entity
class LocalStep:
    """What one device computes in one step.

    Args:
        local: the program.
        feeds: what it is fed.
        fetches: what it gives that is read later.
    """

    local: Local
    feeds: tuple[Key, ...]
    fetches: tuple[Key, ...]


@entity
class Step:
    """One stage of all devices.

    Args:
        changes: what is exchanged first.
        locals: what each device computes then.
    """

    changes: tuple[Change, ...]
    locals: Mapping[Device, LocalStep]


@entity
class Physical:
    """A program laid out over devices.

    Args:
        program: the logical one.
        devices: all that take part but the script's process, in order.
        feeds: what it is fed, and how that lies.
        outputs: what it returns, and how that lies; a variable is returned as it is then.
        steps: in order.
        choice: how each op runs.
        known: descriptions of all Values.
        fabric: what lies between the devices.
    """

    program: Program
    devices: tuple[Device, ...]
    feeds: tuple[Key, ...]
    outputs: tuple[Key, ...]
    steps: tuple[Step, ...]
    choice: Choice
    known: Known
    fabric: Fabric


def lay_over_devices(
    program: Program,
    feeds: Sequence[Value],
    outputs: Sequence[Value],
    sizes: Mapping[Value, TensorDesc],
    asked: Asked,
    fabric: Fabric,
) -> Physical:
    """Lay a program out over devices.

    Args:
        program: the program.
        feeds: what it is fed.
        outputs: what it returns.
        sizes: descriptions of what is fed.
        asked: what the job asks for.
        fabric: what lies between the devices.

    Raises:
        UsageError, UnsupportedError: see ``choose``.
        ShapeError, DtypeError, InferError: an op refuses the sizes.
    """
    ops = prune(program.blocks[0].ops, outputs)
    known = resolve_sizes(ops, sizes, is_exact=True)
    for value in (*feeds, *outputs):
        known.setdefault(value, value.desc)
    choice = choose(ops, feeds, known, asked, fabric)
    stages = stages_of(choice, outputs, fabric)
    devices = tuple(sorted({device for chosen in choice.ops for device in chosen.devices.devices} - set(HOST.devices)))
    wanted = tuple((value, final_lay(choice.lays.get(value))) for value in outputs)
    steps = _steps(program, stages, (*devices, *HOST.devices), wanted, choice, known, fabric)
    fed = tuple((value, choice.lays[value]) for value in feeds)
    return Physical(program, devices, fed, wanted, steps, choice, known, fabric)


def _steps(
    program: Program,
    stages: Sequence[Stage],
    devices: Sequence[Device],
    outputs: Sequence[Key],
    choice: Choice,
    known: Known,
    fabric: Fabric,
) -> tuple[Step, ...]:
    locals_ = [
        {
            device: found
            for device in devices
            if (found := local_of(stage, device, choice, known, fabric, program._dialect)) is not None
        }
        for stage in stages
    ]
    later: set[Key] = {key for key in outputs if not is_state(key[0])}
    steps: list[Step] = []
    for stage, group in zip(reversed(stages), reversed(locals_)):
        made = {
            device: LocalStep(local, tuple(local.feeds), tuple(key for key in local.made if key in later))
            for device, local in group.items()
        }
        steps.append(Step(tuple(stage.changes), made))
        for local in group.values():
            later.update(local.feeds)
        later.update((change.value, change.source) for change in stage.changes)
    steps.reverse()
    return tuple(steps)
