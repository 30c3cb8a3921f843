"""row_norm for JAX.

Exported by opkit 0.1.0 from the op row_norm_forward.
Array operations of the framework, traced from the numpy kernels.
Needs jax 0.4.34 or newer.

Proved with jax 0.10.2:
  values: equal, 9 of 9 cases, outputs and gradients
  refusals: pass, 2 inputs
  jit: pass, 2 cases
  vmap: pass, a new first axis
  check_grads: pass, reverse mode, inputs x
  opkit gradcheck: pass
"""

import jax
import jax.numpy as jnp

__all__ = ["row_norm"]

if tuple(map(int, jax.__version__.split(".")[:3])) < (0, 4, 34):
    raise ImportError(f"jax {jax.__version__} is too old: 0.4.34 is needed")


def _infer_row_norm_forward(x):
    """Return (shape, dtype) of each output of row_norm_forward, or refuse the inputs."""
    dtype = x.dtype
    if not (dtype == jnp.float32 or dtype == jnp.float64):
        raise ValueError(
            "row_norm_forward: CHECK_OR_RETURN(dtype == DataType::kFloat || dtype == "
            "DataType::kDouble) failed: x must be float32 or float64"
        )
    y_dtype = dtype
    x_ = x.shape
    if len(x_) < 1:
        raise ValueError(
            f"row_norm_forward: CHECK_GE_OR_RETURN(x.NumAxes(), 1) failed ({len(x_)} vs 1): there "
            "must be an axis to reduce"
        )
    y_ = list(x_)
    y_.pop()
    y_shape = tuple(y_)
    return [(tuple(y_shape), y_dtype)]


def _row_norm_forward(x):
    return jnp.sqrt(jnp.sum(jnp.square(x), axis=-1))


def _row_norm_backward(x, y, dy):
    length = y[..., None]
    return dy[..., None] * jnp.where(length != 0, x / length, jnp.zeros_like(x))


@jax.custom_vjp
def _row_norm_op(x):
    return _row_norm_forward(x)


def _row_norm_fwd(x):
    y = _row_norm_forward(x)
    return y, (x, y)


def _row_norm_bwd(residuals, grads):
    x, y = residuals
    grad_y = grads
    dx = _row_norm_backward(x, y, grad_y)
    return (dx,)


_row_norm_op.defvjp(_row_norm_fwd, _row_norm_bwd)


def row_norm(x):
    """Return y of the op row_norm, computed from x."""
    x = jnp.asarray(x)
    _infer_row_norm_forward(x)
    return _row_norm_op(x)
