"""Pallas: its kernels run in JAX's interpreter where JAX has no accelerator.

What an ordinary process and a check have in common: kernels whose caller asks for no interpreter raise on a CPU.
"""

from __future__ import annotations

import sys


def is_interpreted() -> bool:
    """Let the kernels of Pallas run in its interpreter where they are loaded and JAX has a CPU alone; say whether."""
    jax = sys.modules.get("jax")
    if jax is None or "jax.experimental.pallas" not in sys.modules or jax.default_backend() != "cpu":
        return False
    setting = getattr(jax._src.config, "pallas_tpu_interpret_mode_context_manager", None)
    if setting is None:  # a release that has another one
        return False
    setting.set_global(True)
    return True
