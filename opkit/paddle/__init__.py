"""``paddle``, as ``opkit run`` serves it: Paddle 2.6's names over opkit's runtime.

A name that opkit does not have raises an AttributeError that says so and offers the nearest one.
"""

from opkit.eager import Tensor, enable_grad, is_grad_enabled, no_grad, set_grad_enabled
from opkit.paddle import autograd, framework, linalg, tensor, version
from opkit.paddle.autograd.backward_mode import grad
from opkit.paddle.framework.flags import get_flags, set_flags
from opkit.paddle.framework.io import load, save
from opkit.paddle.framework.parameter import ParamAttr, create_parameter
from opkit.paddle.framework.place import (
    CPUPlace,
    CUDAPinnedPlace,
    CUDAPlace,
    CustomPlace,
    XPUPlace,
    get_cuda_rng_state,
    get_device,
    is_compiled_with_cinn,
    is_compiled_with_cuda,
    is_compiled_with_custom_device,
    is_compiled_with_distribute,
    is_compiled_with_rocm,
    is_compiled_with_xpu,
    set_cuda_rng_state,
    set_device,
)
from opkit.paddle.framework.static_mode import get_default_dtype, in_dynamic_mode, set_default_dtype
from opkit.paddle.semantics.dtypes import BFLOAT16 as bfloat16
from opkit.paddle.semantics.dtypes import DType as dtype
from opkit.paddle.semantics.dtypes import dtype_object as _dtype
from opkit.paddle.semantics.printing import set_printoptions
from opkit.paddle.tensor import NAMES as _NAMES
from opkit.shim.missing import guard as _guard
from opkit.static import disable_static

bool = _dtype("bool")
uint8 = _dtype("uint8")
int8 = _dtype("int8")
int16 = _dtype("int16")
int32 = _dtype("int32")
int64 = _dtype("int64")
float16 = _dtype("float16")
float32 = _dtype("float32")
float64 = _dtype("float64")
complex64 = _dtype("complex64")
complex128 = _dtype("complex128")

__version__ = version.full_version

for _name in _NAMES:
    globals()[_name] = getattr(tensor, _name)
del _name

__all__ = [
    "CPUPlace",
    "CUDAPinnedPlace",
    "CUDAPlace",
    "CustomPlace",
    "DataParallel",
    "LazyGuard",
    "ParamAttr",
    "Tensor",
    "XPUPlace",
    "amp",
    "autograd",
    "batch",
    "bfloat16",
    "base",
    "bool",
    "complex128",
    "complex64",
    "create_parameter",
    "device",
    "disable_static",
    "distributed",
    "dtype",
    "enable_grad",
    "enable_static",
    "float16",
    "float32",
    "float64",
    "flops",
    "framework",
    "get_cuda_rng_state",
    "get_default_dtype",
    "get_device",
    "get_flags",
    "geometric",
    "grad",
    "hapi",
    "in_dynamic_mode",
    "incubate",
    "int16",
    "int32",
    "int64",
    "int8",
    "io",
    "is_compiled_with_cinn",
    "is_compiled_with_cuda",
    "is_compiled_with_custom_device",
    "is_compiled_with_distribute",
    "is_compiled_with_rocm",
    "is_compiled_with_xpu",
    "is_grad_enabled",
    "jit",
    "linalg",
    "load",
    "metric",
    "nn",
    "no_grad",
    "optimizer",
    "reader",
    "regularizer",
    "save",
    "set_cuda_rng_state",
    "set_default_dtype",
    "set_device",
    "set_flags",
    "set_grad_enabled",
    "set_printoptions",
    "static",
    "summary",
    "tensor",
    "uint8",
    "utils",
    "version",
    *_NAMES,
]

#: What is imported when a script first asks for it: name -> the module that it is or that defines it.
_LATER = {
    **{
        _name: f"{__name__}.{_name}"
        for _name in (
            *("_C_ops", "amp", "base", "device", "distributed", "geometric", "hapi", "incubate", "io", "jit", "metric"),
            *("nn", "optimizer", "reader", "regularizer", "static", "utils"),
        )
    },
    "DataParallel": f"{__name__}.distributed.data_parallel",
    "batch": f"{__name__}.reader.decorator",
    "enable_static": f"{__name__}.static",
    "LazyGuard": f"{__name__}.framework.lazy_init",
    "flops": f"{__name__}.hapi.dynamic_flops",
    "summary": f"{__name__}.hapi.model_summary",
}

__getattr__ = _guard(globals(), later=_LATER)
