"""The builders of ``opkit.ops`` under the rules of the values that they get: functions composed of ops use them.

Where dtypes meet, the dialect of the operands decides, as it does for operators; everything else is as it is.
"""

from __future__ import annotations

from opkit import ops
from opkit.ops import *  # noqa: F403 - what no dialect has a say in
from opkit.ops.methods import BUILDERS

__all__ = list(ops.__all__)

globals().update({name: build for name, build in BUILDERS.items() if name in ops.__all__})
