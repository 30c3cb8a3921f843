"""CppLibrary and Plan: a library of kernels in this process, and one kernel of it ready for arrays of given shapes.

How it was built, and what an op definition promises of results, is not known here.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence
from dataclasses import replace
from os import getpid
from typing import Any

import numpy as np

from opkit.errors import KernelError, Location
from opkit.forked import end_if_forked
from opkit.native.signature import Signature, fields_of
from opkit.paths import StrPath
from opkit.record import record

_ABI = 1
#: What an op that asks for its Python kernel may be called when its C++ kernel is wanted.
_OTHER_TAGS = ("cpp", "")


@record
class Registered:
    """One REGISTER_USER_KERNEL of a library.

    Args:
        op: the op type.
        where: the line that registers it.
        condition: in words.
    """

    op: str
    where: Location
    condition: str


class CppLibrary:
    """A loaded library.

    Args:
        path: the shared library, which this process then holds open for good.

    Raises:
        KernelError: it cannot be loaded, or another version of opkit built it.
    """

    def __init__(self, path: StrPath) -> None:
        self.path = os.fspath(path)
        try:
            self._handle = ctypes.CDLL(self.path, mode=os.RTLD_LOCAL | os.RTLD_NOW)
            is_ours = self._handle.opkit_abi() == _ABI
        except (OSError, AttributeError) as error:
            raise KernelError(f"the library of C++ kernels {self.path} cannot be loaded: {error}") from error
        if not is_ours:
            raise KernelError(f"the library of C++ kernels {self.path} is of another version of opkit")
        handle = self._handle
        handle.opkit_prepare.restype = ctypes.c_void_p
        handle.opkit_prepare.argtypes = [ctypes.c_char_p]
        handle.opkit_returned.restype = ctypes.c_void_p
        handle.opkit_returned_size.restype = ctypes.c_int64
        handle.opkit_layout.argtypes = [ctypes.c_int64, ctypes.c_int64]
        handle.opkit_probe.argtypes = [ctypes.py_object]
        handle.opkit_probe.restype = ctypes.c_void_p
        handle.opkit_release.argtypes = handle.opkit_about.argtypes = [ctypes.c_void_p]
        handle.opkit_compute.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
        handle.opkit_call.argtypes = [ctypes.c_void_p, ctypes.py_object]
        self.sees_arrays = self._lay_out()

    def _lay_out(self) -> bool:
        """Tell the library where Python keeps an array's address; say whether it then finds the right one."""
        header = object.__basicsize__
        self._handle.opkit_layout(tuple.__basicsize__, header)
        array = np.zeros(3)
        return bool(self._handle.opkit_probe((array,)) == array.ctypes.data)

    def registrations(self) -> tuple[Registered, ...]:
        """Return all registrations, in the order of the sources."""
        self._handle.opkit_registrations()
        fields = self._returned()
        rows = zip(*(fields[start::4] for start in range(4)))
        return tuple(Registered(op, Location(file, int(line)), text) for op, file, line, text in rows)

    def prepare(self, signature: Signature) -> Plan:
        """Return the plan of an op.

        An op whose device_sub_tag asks for the Python kernel ("py") may be registered here under "cpp" or "".

        Raises:
            KernelError: no registration fits, or several do, or the kernel's own preparation failed.
            DtypeError: a tensor has a dtype that the kernel language lacks.
        """
        tags = (signature.sub_tag, *(_OTHER_TAGS if signature.sub_tag == "py" else ()))
        for tag in tags:
            handle = self._handle.opkit_prepare(_tagged(signature, tag).encoded())
            if handle:
                return Plan(self, handle, signature)
            fields = self._returned()
            if fields[0] != "unmatched":
                raise self.error(fields, signature, "preparing")
            if tag == signature.sub_tag:
                lacking = fields_of(fields[3].encode("utf-8", "surrogateescape"))
        raise self._unmatched(signature, lacking)

    def error(self, fields: Sequence[str], signature: Signature, doing: str) -> KernelError:
        """Return the error about what a function of the library reported."""
        _kind, file, line, text = fields
        where = Location(file, int(line)) if file else self._where(signature.op)
        shown = ", ".join(f"{item.name} {item.dtype}{list(item.shape)}" for item in signature.inputs)
        return KernelError(
            f"the C++ kernel of op {signature.op!r}: {text}\n  while {doing} it for {shown or 'no inputs'}", where=where
        )

    def _where(self, op: str) -> Location | None:
        return next((item.where for item in self.registrations() if item.op == op), None)

    def _unmatched(self, signature: Signature, lacking: Sequence[str]) -> KernelError:
        dtypes = ", ".join(f"{item.name} {item.dtype}" for item in (*signature.inputs, *signature.outputs))
        if not lacking:
            ops = ", ".join(dict.fromkeys(item.op for item in self.registrations())) or "none"
            return KernelError(
                f"no C++ kernel is registered for op {signature.op!r}",
                help=f"add REGISTER_USER_KERNEL({signature.op!r}); registered are {ops}".replace("'", '"'),
            )
        rows = [
            f"\n  {os.path.basename(file)}:{line} lacks {text}"
            for file, line, text in zip(lacking[::3], lacking[1::3], lacking[2::3])
        ]
        return KernelError(
            f"no C++ kernel of op {signature.op!r} is registered for {dtypes}{''.join(rows)}",
            where=Location(lacking[0], int(lacking[1])),
            help="register the kernel for these dtypes and attributes too",
        )

    def _returned(self) -> list[str]:
        data = ctypes.string_at(self._handle.opkit_returned(), self._handle.opkit_returned_size())
        return fields_of(data)


def _tagged(signature: Signature, tag: str) -> Signature:
    return signature if tag == signature.sub_tag else replace(signature, sub_tag=tag)


class Plan:
    """A kernel for one op, ready for arrays of the shapes and dtypes of its signature.

    Calls from several threads run at once; those of a kernel with a state of its own come one after another.

    Args:
        library: where it is from.
        handle: the library's.
        signature: of the op.
    """

    def __init__(self, library: CppLibrary, handle: int, signature: Signature) -> None:
        self.library = library
        self.handle = handle
        self.signature = signature
        self._call = library._handle.opkit_call if library.sees_arrays else self._by_address
        self._about: tuple[Location, tuple[tuple[int, int], ...]] | None = None

    def __del__(self) -> None:
        """Free the kernel and its state."""
        self.library._handle.opkit_release(self.handle)

    def run(self, arrays: tuple[np.ndarray, ...]) -> None:
        """Compute into the outputs.

        Args:
            arrays: the inputs, then the outputs: C-contiguous, aligned, of the signature's shapes and dtypes.

        Raises:
            KernelError: a check of the kernel failed, or it threw.
        """
        process = getpid()
        has_failed = self._call(self.handle, arrays)
        if getpid() != process:  # the kernel forked: its copy of this process has no business here
            end_if_forked(process)
        if has_failed:
            raise self.library.error(self.library._returned(), self.signature, "running")

    def _by_address(self, handle: int, arrays: tuple[np.ndarray, ...]) -> int:
        addresses = (ctypes.c_void_p * max(len(arrays), 1))(*(array.ctypes.data for array in arrays))
        return int(self.library._handle.opkit_compute(handle, addresses))

    def _asked(self) -> tuple[Location, tuple[tuple[int, int], ...]]:
        if self._about is None:
            failed = self.library._handle.opkit_about(self.handle)
            fields = self.library._returned()
            if failed:
                raise self.library.error(fields, self.signature, "asking where it works in place for")
            pairs = [int(item) for item in fields[2:]]
            self._about = Location(fields[0], int(fields[1])), tuple(zip(pairs[::2], pairs[1::2]))
        return self._about

    @property
    def where(self) -> Location:
        """The registration that fits."""
        return self._asked()[0]

    @property
    def in_place(self) -> tuple[tuple[int, int], ...]:
        """Pairs (output, input) by position: the kernel says that it may write that output over that input."""
        return self._asked()[1]


_loaded: dict[str, CppLibrary] = {}


def load_library(path: StrPath) -> CppLibrary:
    """Return a library, which a process loads once.

    Raises:
        KernelError: as ``CppLibrary``.
    """
    name = os.fspath(path)
    if name not in _loaded:
        _loaded[name] = CppLibrary(name)
    return _loaded[name]


def contiguous(array: Any) -> np.ndarray:
    """Return an array as kernels need it: itself, or a copy in C order, aligned, in the machine's byte order."""
    made: np.ndarray = np.require(array, requirements=("C", "A"))
    return made if made.dtype.isnative else made.astype(made.dtype.newbyteorder("="))
