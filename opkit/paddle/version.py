"""``paddle.version``: the version of Paddle whose behaviour opkit follows."""

from opkit.shim.missing import guard as _guard

__all__ = [
    "cinn",
    "commit",
    "cuda",
    "cudnn",
    "full_version",
    "istaged",
    "major",
    "minor",
    "mkl",
    "patch",
    "rc",
    "show",
    "with_mkl",
    "xpu",
]

full_version = "2.6.2"
major, minor, patch, rc = "2", "6", "2", "0"
commit = "8ce0de584c570589117e403322f3d1a0de6554e5"
istaged = True
with_mkl = "OFF"
cuda_version = cudnn_version = xpu_version = xpu_xccl_version = cinn_version = "False"


def cuda() -> str:
    """Return the version of CUDA, as Paddle's text for none."""
    return "False"


cudnn = xpu = cinn = cuda


def mkl() -> str:
    """Return whether Intel's library of maths is used: no."""
    return with_mkl


def show() -> str:
    """Return the version."""
    return full_version


__getattr__ = _guard(globals())
