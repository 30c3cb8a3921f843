"""max_unpool: elements put back where a maximum pool found them.

Where it found them is ``opkit.ops.network.pool``'s to say.
"""

from __future__ import annotations

import math

from opkit.ops.arrange.scattering import put_along_axis
from opkit.ops.arrange.shape import reshape
from opkit.ops.basis.creation import constant
from opkit.ops.core.types import Ints
from opkit.ops.core.value import Value, shape_of


def max_unpool(x: Value, places: Value, sizes: Ints) -> Value:
    """Return zeros with the elements of ``x`` put where ``max_pool_places`` found them.

    Args:
        x: ``(N, C, ...)``.
        places: of x's shape, integers; of several values for one place the last counts.
        sizes: the spatial sizes of the result, ``(N, C, sizes...)``.
    """
    batch, channels = shape_of(x)[:2]
    blank = constant(0, (batch, channels, math.prod(sizes)), x._data.dtype.name)
    flat = [reshape(item, (batch, channels, -1)) for item in (places, x)]
    return reshape(put_along_axis(blank, flat[0], flat[1], 2), (batch, channels, *sizes))
