"""Compiler: the machine's C++ compiler and the flags that kernels are compiled with.

What is compiled, and where the results go, is not known here.
"""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import subprocess
import sys
from functools import lru_cache
from pathlib import Path

from opkit.errors import UsageError
from opkit.record import record

#: Where the headers of the kernel language are: beside this file, in a wheel as in an editable install.
INCLUDE = Path(__file__).resolve().parent / "include"

_NAMES = ("g++", "clang++", "c++")
#: numpy rounds each operation; a compiler that fuses a * b + c would make kernels differ from their Python twins.
#: Loops become vectors where nothing asks for errno or for traps; sums keep their order but where the source lets them.
_FLAGS = (
    *("-std=c++17", "-fPIC", "-fvisibility=hidden", "-fdiagnostics-color=never"),
    *("-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math", "-fopenmp-simd"),
)
_SANITIZED = ("-O1", "-g", "-fsanitize=address,undefined", "-fno-omit-frame-pointer", "-fno-sanitize-recover=undefined")


@record
class Compiler:
    """A C++ compiler.

    Args:
        command: its words, such as ``("ccache", "g++")``.
        flags: of the user (``CXXFLAGS``), which come last.
    """

    command: tuple[str, ...]
    flags: tuple[str, ...] = ()

    def flags_for(self, *, is_sanitized: bool = False) -> tuple[str, ...]:
        """Return all flags that change what is compiled."""
        speed = _SANITIZED if is_sanitized else ("-O3", *_processor_flags())
        return (*_FLAGS, *speed, *self.flags)

    def sanitizer_runtime(self) -> str:
        """Return the library that a process needs to load what is sanitized.

        Raises:
            UsageError: this compiler has none that opkit knows.
        """
        words = [*self.command, "-print-file-name=libasan.so"]
        found = subprocess.run(words, capture_output=True, text=True, stdin=subprocess.DEVNULL).stdout.strip()
        if sys.platform == "linux" and os.path.isabs(found) and os.path.isfile(found):
            return os.path.realpath(found)
        raise UsageError(
            f"--sanitize: {' '.join(self.command)} has no libasan.so",
            help="name a g++ for Linux in CXX, or leave it out",
        )

    def identity(self) -> tuple[str, ...]:
        """Return what tells this compiler on this machine from another: its file, and the processor."""
        found = shutil.which(self.command[-1]) or self.command[-1]
        real = os.path.realpath(found)
        try:
            status = os.stat(real)
            stamp = f"{status.st_size}:{status.st_mtime_ns}"
        except OSError:
            stamp = ""
        return (*self.command, real, stamp, *self.flags, *_processor_flags(), platform.machine(), _processor())


def find_compiler() -> Compiler | None:
    """Return the compiler that ``CXX`` names, else g++, clang++ or c++ of the path; None where there is none.

    Raises:
        UsageError: ``CXX`` names something that is not there, or ``CXX`` or ``CXXFLAGS`` cannot be read.
    """
    try:
        named, flags = shlex.split(os.environ.get("CXX", "")), tuple(shlex.split(os.environ.get("CXXFLAGS", "")))
    except ValueError as error:
        raise UsageError(f"CXX or CXXFLAGS cannot be read: {error}") from error
    if named:
        if shutil.which(named[0]) is None:
            raise UsageError(f"CXX names {named[0]!r}, which is not there", help="unset CXX, or name a C++ compiler")
        return Compiler(tuple(named), flags)
    return next((Compiler((name,), flags) for name in _NAMES if shutil.which(name)), None)


def how_to_install() -> str:
    """Return the line that says how to get a compiler on this system."""
    if sys.platform == "darwin":
        return "install one with 'xcode-select --install'"
    return "install g++ (such as 'apt install g++' or 'dnf install gcc-c++') or clang++, or name one in CXX"


def _processor_flags() -> tuple[str, ...]:
    return ("-march=native",) if os.environ.get("OPKIT_CPP_NATIVE", "1") != "0" else ()


@lru_cache(maxsize=1)
def _processor() -> str:
    """Return the model and the instruction sets of this machine's processor, as far as the system says."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").partition("\n\n")[0]
    except OSError:
        return platform.processor()
    return "\n".join(line for line in text.splitlines() if line.startswith(("model name", "flags", "Features")))
