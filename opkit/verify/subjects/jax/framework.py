"""JAX, as far as finding and serving its custom functions goes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np

from opkit.blind.call import Kind
from opkit.blind.pallas import is_interpreted
from opkit.checker import Checkable, OpReport, Options
from opkit.replaced import keep
from opkit.verify.subjects.foreign.serving import Framework
from opkit.verify.subjects.jax.arrays import ARRAYS, leaves_of
from opkit.verify.subjects.jax.device import device_named
from opkit.verify.subjects.jax.function import function_subject, is_custom, whole_subject
from opkit.verify.subjects.jax.recorder import recording
from opkit.verify.subjects.subject import Subject

for _module in (jax, jax.numpy):
    keep(_module.__name__, _module)


class Jax(Framework):
    """See ``Framework``."""

    kinds = "jax.custom_vjp or jax.custom_jvp"
    kind = Kind.JAX
    arrays = ARRAYS
    knows = staticmethod(is_custom)
    recording = staticmethod(recording)

    @property
    def remark(self) -> str:
        """Whether Pallas' kernels are interpreted."""
        return "there is no accelerator: Pallas' kernels ran in its interpreter" if is_interpreted() else ""

    def subject_of(self, value: Any) -> Subject:
        """Return a custom_vjp or custom_jvp as a subject.

        Raises:
            UsageError: it has no rule.
            NamedError: JAX lacks the device.
        """
        return function_subject(value, device_named(self.device))

    def named(self, value: Any, names: Mapping[str, Any], label: str, options: Options) -> Checkable | OpReport:
        """Serve one custom function of a file."""
        jax.config.update("jax_traceback_filtering", "off")  # it takes longer than what a search tries in between
        return super().named(value, names, label, options)

    def holds_array(self, inputs: Any) -> bool:
        """Return whether there is an array of JAX among inputs."""
        return any(not isinstance(item, np.ndarray) for item in leaves_of(inputs))

    # --- functions
    def whole(self, target: Any) -> Subject:
        """Return a function of arrays as a subject."""
        return whole_subject(target, device=device_named(self.device))

    def run(self, target: Any, subject: Subject, calls: Sequence[Mapping[str, Any]]) -> None:
        """Call a function with example inputs."""
        for call in calls:
            args, rest = subject.parameters.filled(call)
            target(*args, **rest)


framework = Jax()
