"""Dynamic mode: Tensors, the recorded graph and PyLayer. Importing it makes eager the default mode."""

from opkit.eager.backward import grad, run_backward
from opkit.eager.grad_hooks import HookHandle, register_hook, retain_grads
from opkit.eager.grad_mode import enable_grad, is_grad_enabled, no_grad, set_grad_enabled
from opkit.eager.inplace import become, check_inplace, set_value
from opkit.eager.methods import install_methods
from opkit.eager.node import Node, apply, install
from opkit.eager.pylayer import PyLayer
from opkit.eager.pylayer_context import PyLayerContext
from opkit.eager.saved_hooks import saved_tensors_hooks
from opkit.eager.tensor import Tensor, wrap
from opkit.ops.core.finite import NonFiniteError

install_methods()
install()

__all__ = [
    "HookHandle",
    "Node",
    "NonFiniteError",
    "PyLayer",
    "PyLayerContext",
    "Tensor",
    "apply",
    "become",
    "check_inplace",
    "enable_grad",
    "grad",
    "install",
    "is_grad_enabled",
    "no_grad",
    "register_hook",
    "retain_grads",
    "run_backward",
    "saved_tensors_hooks",
    "set_grad_enabled",
    "set_value",
    "wrap",
]
