"""Checkpoints: a folder with one sub-folder per variable, in OneFlow v0.4.0's layout, written completely or not at all.

Each variable is ``NAME/out`` (raw little-endian data in C order) and ``NAME/meta`` (shape and dtype as text);
``snapshot_done`` marks a finished save and ``opkit.json`` adds checksums. Nothing is ever unpickled. What is read is of
one save, whatever is saved to that folder meanwhile.
"""

from __future__ import annotations

import itertools
import json
import math
import os
import shutil
import time
import zlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy import ndarray

from opkit.atomic import open_up, sync_folder, write_synced
from opkit.errors import OpkitError
from opkit.foreign import FormatError, Record, read_file, read_json
from opkit.ir import DTYPES, INFERENCE_ONLY, Shape, canonical_dtype, to_numpy
from opkit.paths import StrPath
from opkit.record import record
from opkit.scratch import folder_lock, scratch_folder, sweep

_DATA, _META, _DONE, _MANIFEST = "out", "meta", "snapshot_done", "opkit.json"
_PROTO_NAMES = {
    "kChar": "char",
    "kFloat": "float32",
    "kDouble": "float64",
    "kInt8": "int8",
    "kInt32": "int32",
    "kInt64": "int64",
    "kUInt8": "uint8",
    "kFloat16": "float16",
}
#: Bounds of what a checkpoint is read with.
_MOST_AXES = 32
_LONGEST_META = 1 << 16
_LONGEST_MANIFEST = 1 << 26
#: Seconds for which a checkpoint is read again that others save to meanwhile, and between two attempts.
_PATIENCE = 20.0
_PAUSE = 0.002
_OPKIT_NAMES = {name: proto for proto, name in _PROTO_NAMES.items()}


class CheckpointError(OpkitError, RuntimeError):
    """A checkpoint is missing, truncated, damaged, foreign, or does not fit the variables."""


class FolderTakenError(CheckpointError, AssertionError):
    """A checkpoint cannot be saved there: the folder holds something else (OneFlow raises AssertionError)."""


@record
class StoredVariable:
    """A variable of a checkpoint.

    Args:
        name: the variable's name.
        path: the folder that it was read from.
        shape: one size per axis.
        dtype: canonical dtype name.
        data: the bytes, or what is wrong with them.
    """

    name: str
    path: Path
    shape: Shape
    dtype: str
    data: bytes | CheckpointError

    def numpy(self) -> ndarray:
        """Return the data as a new array.

        Raises:
            CheckpointError: the file is missing, has another size, or its checksum differs.
        """
        if isinstance(self.data, CheckpointError):
            raise self.data
        dtype = to_numpy(self.dtype)
        return np.frombuffer(self.data, dtype=dtype.newbyteorder("<")).astype(dtype).reshape(self.shape)


# ---- writing ---------------------------------------------------------------------------------------------------------
def write_checkpoint(path: StrPath, variables: Mapping[str, ndarray]) -> None:
    """Save variables; either all of them are there afterwards, or what was there before.

    Args:
        path: the folder to make. A checkpoint of these variables that opkit wrote is replaced; anything else in its
            place is refused.
        variables: arrays by name; a name is one path component.

    Raises:
        FolderTakenError: the place is taken by something else.
        CheckpointError: it cannot be written.
    """
    target = Path(os.path.abspath(path))
    parent = target.parent
    try:
        parent.mkdir(parents=True, exist_ok=True)
        sweep(parent)
        with folder_lock(parent):
            _restore(target)
            _refuse_taken(target, set(variables))
        with scratch_folder(parent) as scratch:
            _write_all(Path(scratch.path), variables)
            open_up(scratch.path, 0o777)
            with folder_lock(parent):
                _restore(target)
                _refuse_taken(target, set(variables))
                _swap(Path(scratch.path), target)
    except OSError as problem:
        raise CheckpointError(f"cannot save a checkpoint to {target}: {problem.strerror}") from problem


def _write_all(folder: Path, variables: Mapping[str, ndarray]) -> None:
    sums = {}
    for name, value in variables.items():
        if not name or name in (".", "..") or set(name) & {"/", "\\", "\0"}:
            raise CheckpointError(f"variable name {name!r} cannot be a folder's name in a checkpoint")
        array = np.ascontiguousarray(value).reshape(np.shape(value))
        raw = array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()
        place = folder / name
        place.mkdir()
        sizes: Shape = array.shape
        dims = "".join(f"  dim: {size}\n" for size in sizes)
        dtype = canonical_dtype(array.dtype)
        write_synced(place / _META, f"shape {{\n{dims}}}\ndata_type: {_OPKIT_NAMES.get(dtype, dtype)}\n".encode())
        write_synced(place / _DATA, raw)
        sums[name] = zlib.crc32(raw)
    write_synced(folder / _MANIFEST, json.dumps({"schema": 1, "crc32": sums}, indent=1, sort_keys=True).encode())
    write_synced(folder / _DONE, b"")


def _previous(target: Path) -> Path:
    return target.parent / f".{target.name}.previous"


def _restore(target: Path) -> None:
    """Put the former checkpoint back where a save was killed between its last two steps."""
    previous = _previous(target)
    if previous.is_dir() and not os.path.lexists(target):
        os.rename(previous, target)


def _swap(scratch: Path, target: Path) -> None:
    previous = _previous(target)
    if not target.is_dir():
        os.rename(scratch, target)
    else:
        shutil.rmtree(previous, ignore_errors=True)
        os.rename(target, previous)
        os.rename(scratch, target)
    shutil.rmtree(previous, ignore_errors=True)
    sync_folder(target.parent)


def _refuse_taken(target: Path, names: set[str]) -> None:
    if not target.is_dir():
        if os.path.lexists(target):
            raise FolderTakenError(f"{target} is a file; a checkpoint is a folder", help="save to another path")
        return
    if not any(target.iterdir()):
        return
    if not (target / _DONE).is_file():
        what = "is not a checkpoint"
    elif not (target / _MANIFEST).is_file():
        what = "is a checkpoint that opkit did not write"
    else:
        held = set(_read_manifest(target))
        if held == names:
            return
        what = f"is a checkpoint of other variables ({', '.join(map(repr, sorted(held ^ names)[:3]))} differ)"
    raise FolderTakenError(
        f"{target} is a non-empty folder that {what}; nothing was written",
        help="save to a new folder, or remove this one first",
    )


# ---- reading ---------------------------------------------------------------------------------------------------------
def read_checkpoint(path: StrPath) -> dict[str, StoredVariable]:
    """Return the variables of a checkpoint by name, all of them of one save.

    Raises:
        CheckpointError: there is no such folder, it holds no variable, or a variable's description is unreadable.
    """
    target = Path(os.path.abspath(path))
    end = time.monotonic() + _PATIENCE
    while True:
        folder, mark = _current(target)
        try:
            sums = _read_manifest(folder)
            found = _read_folder(folder, sums)
            is_whole = bool(sums) and not any(isinstance(item.data, CheckpointError) for item in found.values())
        except CheckpointError:
            if _current(target) == (folder, mark):
                raise
        else:
            # Checksums of one manifest hold for one save. Without a manifest, nobody may have saved in the meantime: it
            # may have been looked for while the folder was being replaced.
            if is_whole or _current(target) == (folder, mark):
                return found
        if time.monotonic() > end:
            raise CheckpointError(f"{target} is being saved again and again and cannot be read", help="read a copy")
        time.sleep(_PAUSE)


def _current(target: Path) -> tuple[Path, tuple[int, ...]]:
    """Return the folder that a checkpoint is in now, and what changes when it is replaced."""
    for _ in range(5):  # between two looks another process may put it in its place
        for folder in (target, _previous(target)):
            try:
                status = os.stat(folder)
            except OSError:
                continue
            if os.path.isdir(folder):
                return folder, (status.st_dev, status.st_ino, status.st_mtime_ns)
    raise CheckpointError(f"there is no checkpoint folder {target}", help="check the path; save one first")


def _read_folder(folder: Path, sums: Mapping[str, int]) -> dict[str, StoredVariable]:
    try:
        if (folder / _DATA).is_file():
            return {folder.name: _read_variable(folder.name, folder, sums)}
        names = sorted(item.name for item in folder.iterdir() if item.name in sums or (item / _DATA).is_file())
        found = {name: _read_variable(name, folder / name, sums) for name in names}
    except OSError as problem:
        raise CheckpointError(f"cannot read the checkpoint {folder}: {problem.strerror}") from problem
    missing = [name for name in sums if name not in found]
    if missing or not found:
        what = f"variables {missing[:5]} are missing" if missing else "it contains no variables"
        raise CheckpointError(f"{folder} is not a complete checkpoint: {what}")
    return found


def _read_manifest(folder: Path) -> dict[str, int]:
    file = folder / _MANIFEST
    try:
        sums = Record(read_json(read_file(file, _LONGEST_MANIFEST))).record("crc32")
        return {name: sums.whole(name, 0, 0xFFFFFFFF) for name in sums}
    except FileNotFoundError:
        return {}
    except (FormatError, OSError) as problem:
        raise CheckpointError(f"{file} is damaged: {problem}") from problem


def _read_variable(name: str, folder: Path, sums: Mapping[str, int]) -> StoredVariable:
    file = folder / _META
    try:
        shape, dtype = _described(read_file(file, _LONGEST_META))
    except FormatError as problem:
        raise CheckpointError(f"variable {name!r}: {file} does not describe a variable: {problem}") from problem
    except OSError as problem:
        raise CheckpointError(f"variable {name!r}: cannot read {file}: {problem.strerror}") from problem
    return StoredVariable(name, folder, shape, dtype, _read_data(name, folder / _DATA, shape, dtype, sums.get(name)))


def _read_data(name: str, file: Path, shape: Shape, dtype: str, checksum: int | None) -> bytes | CheckpointError:
    """Return the bytes of a variable, or what is wrong with them."""
    expected = math.prod(shape) * to_numpy(dtype).itemsize
    try:
        size = os.stat(file).st_size
        raw = read_file(file, expected) if size == expected else b""
    except OSError as problem:
        return CheckpointError(f"variable {name!r}: cannot read {file}: {problem.strerror}")
    except (FormatError, MemoryError) as problem:
        return CheckpointError(f"variable {name!r}: cannot read {file}: {problem or 'it does not fit into memory'}")
    if len(raw) != expected:
        return CheckpointError(
            f"variable {name!r}: {file} has {size} bytes, expected {expected} for "
            f"{dtype}{list(shape)}: the file is truncated or is not a checkpoint",
            help="save the checkpoint again, or load another one",
        )
    if checksum is not None and zlib.crc32(raw) != checksum:
        return CheckpointError(f"variable {name!r}: the data of {file} is damaged (its checksum differs)")
    return raw


def _described(data: bytes) -> tuple[tuple[int, ...], str]:
    """Return the shape and dtype that a description gives.

    Raises:
        FormatError: it is none, or has more than 32 axes.
    """
    shape: list[int] = []
    dtype = ""
    words = data.decode("utf-8", "replace").replace("{", " ").replace("}", " ").split()
    for key, value in itertools.pairwise(words):
        if key == "dim:":
            if not (value.isascii() and value.isdigit() and len(value) < 16):
                raise FormatError(f"a size is {value[:40]!a}")
            shape.append(int(value))
        elif key == "data_type:":
            dtype = _PROTO_NAMES.get(value, value)
    if dtype not in DTYPES or dtype in INFERENCE_ONLY:
        raise FormatError(f"its data type is {dtype[:40]!a}")
    if len(shape) > _MOST_AXES:
        raise FormatError(f"it has {len(shape)} axes, more than {_MOST_AXES}")
    return tuple(shape), dtype
