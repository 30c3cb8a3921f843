"""``paddle.nn.functional``."""

from opkit.paddle.nn.functional.activation import *  # noqa: F403
from opkit.paddle.nn.functional.activation import __all__ as _activations
from opkit.paddle.nn.functional.common import *  # noqa: F403
from opkit.paddle.nn.functional.common import __all__ as _common
from opkit.paddle.nn.functional.conv import *  # noqa: F403
from opkit.paddle.nn.functional.conv import __all__ as _convs
from opkit.paddle.nn.functional.loss import *  # noqa: F403
from opkit.paddle.nn.functional.loss import __all__ as _losses
from opkit.paddle.nn.functional.norm import *  # noqa: F403
from opkit.paddle.nn.functional.norm import __all__ as _norms
from opkit.paddle.nn.functional.pooling import *  # noqa: F403
from opkit.paddle.nn.functional.pooling import __all__ as _pools
from opkit.paddle.nn.functional.vision import *  # noqa: F403
from opkit.paddle.nn.functional.vision import __all__ as _images
from opkit.shim.missing import guard

__all__ = [
    *_activations,
    *_common,
    *_convs,
    *_losses,
    *_norms,
    *_pools,
    *_images,
]

__getattr__ = guard(globals())
