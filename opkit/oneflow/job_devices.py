"""The devices and the view of one job, from the session's resources and the job's settings.

How the job is laid out over them is ``opkit.distribute``'s.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opkit.errors import UsageError
from opkit.ir import Program
from opkit.oneflow.annotations import JobSignature
from opkit.oneflow.semantics.devices import Placement, Resources, View
from opkit.record import record
from opkit.sharding import DeviceGroup


@record
class JobDevices:
    """Where a job runs.

    Args:
        resources: the session's devices.
        settings: the job's, by name.
    """

    resources: Resources
    settings: Mapping[str, Any]

    @property
    def may_be_several(self) -> bool:
        """Whether there is more than one device."""
        resources = self.resources
        return resources.machines > 1 or max(resources.cpu, resources.gpu) > 1

    @property
    def view(self) -> View:
        """The view that the job's settings choose."""
        given = self.settings.get("default_logical_view") or self.settings.get("default_distribute_strategy")
        return given if isinstance(given, View) else View("consistent")

    @property
    def lists(self) -> int:
        """How many arrays are fed in a list: one per device in the mirrored view of several, else 0."""
        if not self.may_be_several or self.view.name != "mirrored":
            return 0
        count = len(self.default())
        return count if count > 1 else 0

    def default(self) -> DeviceGroup:
        """Return where ops run that have no placement of their own.

        Raises:
            UsageError: the job's settings name devices that are not there.
        """
        given = self.settings.get("default_placement_scope")
        if isinstance(given, Placement):
            given.check(self.resources)
            return DeviceGroup("cpu", given.devices.devices)
        return self.resources.devices()

    def is_several(self, program: Program) -> bool:
        """Return whether the ops of a traced job run on more than one device."""
        if not self.may_be_several:
            return False
        placed = {op.placement for op in program.blocks[0].ops if op.placement is not None}
        return len({device for group in (self.default(), *placed) for device in group.devices}) > 1

    def check_placeholders(self, job: str, signature: JobSignature) -> None:
        """Refuse placeholders that do not go with the view of several devices.

        Raises:
            UsageError: lists in the consistent view, whole arrays in the mirrored view.
        """
        count = len(self.default()) if self.may_be_several else 1
        for leaf in signature.leaves:
            if count > 1 and leaf.is_list != bool(self.lists):
                raise UsageError(
                    f"job {job!r}: argument {leaf.path!r} is a {'ListNumpy' if leaf.is_list else 'Numpy'}.Placeholder "
                    f"in the {self.view.name} view of {count} devices",
                    where=signature.where,
                    help="use Numpy.Placeholder for whole arrays, or ListNumpy.Placeholder with "
                    "config.default_logical_view(flow.scope.mirrored_view()) for one array per device",
                )
