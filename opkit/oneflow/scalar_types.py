"""OneFlow's names of dtypes (``flow.float32``, ``flow.int64``, ...); they are defined in ``semantics``."""

from opkit.oneflow.semantics.dtypes import *  # noqa: F403
from opkit.oneflow.semantics.dtypes import __all__

__all__ = [*__all__]
