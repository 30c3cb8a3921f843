"""``paddle.nn.functional``."""

from opkit.paddle.missing import guard
from opkit.paddle.nn.functional.activation import *  # noqa: F403
from opkit.paddle.nn.functional.activation import __all__ as _activations
from opkit.paddle.nn.functional.common import *  # noqa: F403
from opkit.paddle.nn.functional.common import __all__ as _common
from opkit.paddle.nn.functional.loss import *  # noqa: F403
from opkit.paddle.nn.functional.loss import __all__ as _losses
from opkit.paddle.nn.functional.norm import *  # noqa: F403
from opkit.paddle.nn.functional.norm import __all__ as _norms

__all__ = [*_activations, *_common, *_losses, *_norms]

__getattr__ = guard(__name__, globals())
