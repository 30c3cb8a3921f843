"""``paddle.base.param_attr``."""

from opkit.paddle.framework.parameter import ParamAttr
from opkit.shim.missing import guard

__all__ = ["ParamAttr"]

__getattr__ = guard(globals())
