"""Optional modules: paths whose import fails with ImportError, since scripts that try them have another branch.

Every other name of a framework can be imported. A row here needs a reason, which the error shows.
"""

from __future__ import annotations

_FUSED = "its fused kernel needs a GPU"
_ATTENTION = "use paddle.nn.functional.scaled_dot_product_attention or matmul and softmax"

#: path of a module or name -> why it is taken as not installed
OPTIONAL: dict[str, str] = {
    "paddle.incubate.nn.functional.fused_rms_norm": f"{_FUSED}; compose it of plain ops",
    "paddle.incubate.nn.functional.fused_rotary_position_embedding": f"{_FUSED}; compose it of plain ops",
    "paddle.incubate.nn.functional.variable_length_memory_efficient_attention": f"{_FUSED}; {_ATTENTION}",
    "paddle.incubate.nn.memory_efficient_attention": f"{_FUSED}; {_ATTENTION}",
    "paddle.nn.functional.flash_attention": f"{_FUSED}; {_ATTENTION}",
}
