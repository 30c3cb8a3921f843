"""``paddle.nn``."""

from opkit.paddle.framework.parameter import ParamAttr
from opkit.paddle.nn import clip, functional, initializer, layer, utils
from opkit.paddle.nn.clip import ClipGradByGlobalNorm, ClipGradByNorm, ClipGradByValue
from opkit.paddle.nn.layer import *  # noqa: F403
from opkit.paddle.nn.layer import __all__ as _layers
from opkit.paddle.nn.layer import loss
from opkit.shim.missing import guard

__all__ = [
    *_layers,
    "ClipGradByGlobalNorm",
    "ClipGradByNorm",
    "ClipGradByValue",
    "ParamAttr",
    "clip",
    "functional",
    "initializer",
    "layer",
    "loss",
    "utils",
]

__getattr__ = guard(globals(), later={"spectral_norm": f"{__name__}.spectral"})
