"""C++ kernels: the headers of the kernel language, the compiler, the cache of libraries, and calls of what is built.

The one package that knows compilers. Op definitions and op directories are not known here: an op comes as a Signature.
"""

from opkit.native.building import Built, build
from opkit.native.cache import cache_folder
from opkit.native.compiler import Compiler, find_compiler
from opkit.native.library import CppLibrary, Plan, load_library
from opkit.native.sanitized import SanitizedLibrary, SanitizerError
from opkit.native.signature import Signature, Tensor

__all__ = [
    "Built",
    "Compiler",
    "CppLibrary",
    "Plan",
    "SanitizedLibrary",
    "SanitizerError",
    "Signature",
    "Tensor",
    "build",
    "cache_folder",
    "find_compiler",
    "load_library",
]
