"""The op builders under OneFlow's rules: nothing is promoted, integers stay integers.

``opkit.ops`` with the builders replaced that depend on a dialect; the facade's modules import it as ``ops``.
"""

from __future__ import annotations

from opkit import ops
from opkit.oneflow.semantics.dialect import ONEFLOW
from opkit.ops import *  # noqa: F403 - everything that no dialect has a say in is as it is
from opkit.ops.core.meeting import always
from opkit.ops.dialects import builders_for

__all__ = list(ops.__all__)

globals().update({name: build for name, build in builders_for(always(ONEFLOW)).items() if name in ops.__all__})
