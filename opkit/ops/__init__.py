"""Op definitions, the registry, the current mode, and the built-in ops."""

from opkit.ops.mode import Mode, apply, install_default, local
from opkit.ops.opdef import Applied, ArgDef, AttrDef, BoundOp, OpDef, OpType
from opkit.ops.registry import BUILTIN, Registry

__all__ = [
    "BUILTIN",
    "Applied",
    "ArgDef",
    "AttrDef",
    "BoundOp",
    "Mode",
    "OpDef",
    "OpType",
    "Registry",
    "apply",
    "install_default",
    "local",
]
