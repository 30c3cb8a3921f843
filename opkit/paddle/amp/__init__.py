"""``paddle.amp`` on the CPU: everything stays in float32; the scaler of losses does its arithmetic."""

from opkit.paddle.amp.casting import amp_guard, auto_cast, decorate, is_bfloat16_supported, is_float16_supported
from opkit.paddle.amp.scaler import GradScaler
from opkit.shim.missing import guard

amp_decorate = decorate

__all__ = [
    "GradScaler",
    "amp_decorate",
    "amp_guard",
    "auto_cast",
    "decorate",
    "is_bfloat16_supported",
    "is_float16_supported",
]

__getattr__ = guard(globals())
