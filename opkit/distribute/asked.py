"""What a job asks for: its devices, where its variables are at home, the view, and the ways of users' ops.

Which placement strings and functions say so is the facade's business.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import TypeAlias

from opkit.distribute.way import Facts, Way
from opkit.ir import Operation, TensorDesc
from opkit.ops import ArgDef, OpDef
from opkit.record import record
from opkit.sharding import DeviceGroup, Sbp


@record
class Home:
    """Where a variable lives.

    Args:
        devices: those of the placement in which it was made; None: the job's.
        sbp: how it is distributed; None: as the job likes, which is whole.
    """

    devices: DeviceGroup | None = None
    sbp: Sbp | None = None


@record
class Verdict:
    """What is known about a user's op on devices.

    Args:
        ways: those that are proved.
        reason: why there are none, or not all that are claimed; "" where nothing is missing.
    """

    ways: tuple[Way, ...] = ()
    reason: str = ""


#: ``claimed(operation, facts)`` -> what is proved about a user's op.
Claimed: TypeAlias = Callable[[Operation, Facts], Verdict]


def _nothing_claimed(op: Operation, facts: Facts) -> Verdict:
    return Verdict(reason="nothing is known of how it may be cut")


@record
class Asked:
    """What a job asks for.

    Args:
        devices: where ops run that have no placement of their own.
        homes: of variables, by name.
        is_mirrored: each device runs the job on inputs of its own.
        claimed: what is proved about users' ops.
    """

    devices: DeviceGroup
    homes: Mapping[str, Home] = field(default_factory=dict)
    is_mirrored: bool = False
    claimed: Claimed = _nothing_claimed


#: In the mirrored view: what the devices have of it, each for itself, is from here on a partial sum of one tensor.
#: It is never folded: that of a constant is as many times the constant as there are devices.
SUM_OVER_DEVICES = OpDef(
    "sum_over_devices",
    (ArgDef("in"),),
    (ArgDef("out"),),
    lambda array: array,
    infer=lambda descs, attrs: [TensorDesc(descs[0].shape, descs[0].dtype)],
    is_view=True,
    is_random=True,
)
