"""PyLayers, as far as finding and serving them goes: the family of functions that needs no other framework."""

from __future__ import annotations

from typing import Any

from opkit.blind.call import Kind
from opkit.eager import PyLayer
from opkit.errors import UsageError
from opkit.verify.subjects.foreign.serving import Framework
from opkit.verify.subjects.pylayer import is_layer, layer_subject
from opkit.verify.subjects.source_location import location_of
from opkit.verify.subjects.subject import Subject


class Layers(Framework):
    """See ``Framework``."""

    kinds = "PyLayer"
    kind = Kind.LAYER
    knows = staticmethod(is_layer)
    heard_subject = staticmethod(layer_subject)  # one without a backward fails

    def subject_of(self, value: Any) -> Subject:
        """Return a PyLayer as a subject.

        Raises:
            UsageError: it has no forward, or no backward.
        """
        for part in ("forward", "backward"):
            if getattr(value, part) is getattr(PyLayer, part):
                raise UsageError(f"{value.__name__} has no {part}", where=location_of(value))
        return layer_subject(value)


layers = Layers()
