"""Checkpoints: a folder with one sub-folder per variable, in OneFlow v0.4.0's layout, written completely or not at all.

Each variable is ``NAME/out`` (raw little-endian data in C order) and ``NAME/meta`` (shape and dtype as text);
``snapshot_done`` marks a finished save and ``opkit.json`` adds checksums. Nothing is ever unpickled.
"""

from __future__ import annotations

import itertools
import json
import math
import os
import shutil
import tempfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from opkit.atomic import sync_folder, write_synced
from opkit.errors import OpkitError
from opkit.ir import canonical_dtype, to_numpy

__all__ = ["CheckpointError", "FolderTakenError", "StoredVariable", "read_checkpoint", "write_checkpoint"]

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
_OPKIT_NAMES = {name: proto for proto, name in _PROTO_NAMES.items()}


class CheckpointError(OpkitError, RuntimeError):
    """A checkpoint is missing, truncated, damaged, foreign, or does not fit the variables."""


class FolderTakenError(CheckpointError, AssertionError):
    """A checkpoint cannot be saved there: the folder holds something else (OneFlow raises AssertionError)."""


@dataclass(frozen=True, slots=True)
class StoredVariable:
    """A variable of a checkpoint; its data is read when ``numpy()`` is called.

    Args:
        name: the variable's name.
        path: the variable's folder.
        shape: one size per axis.
        dtype: canonical dtype name.
        checksum: CRC-32 of the data, None where the writer left none.
    """

    name: str
    path: Path
    shape: tuple[int, ...]
    dtype: str
    checksum: int | None = None

    def numpy(self) -> np.ndarray:
        """Return the data as a new array.

        Raises:
            CheckpointError: the file is missing, has another size, or its checksum differs.
        """
        file = self.path / _DATA
        try:
            raw = file.read_bytes()
        except OSError as problem:
            raise CheckpointError(f"variable {self.name!r}: cannot read {file}: {problem.strerror}") from problem
        dtype = to_numpy(self.dtype)
        expected = math.prod(self.shape) * dtype.itemsize
        if len(raw) != expected:
            raise CheckpointError(
                f"variable {self.name!r}: {file} has {len(raw)} bytes, expected {expected} for "
                f"{self.dtype}{list(self.shape)}: the file is truncated or is not a checkpoint",
                help="save the checkpoint again, or load another one",
            )
        if self.checksum is not None and zlib.crc32(raw) != self.checksum:
            raise CheckpointError(f"variable {self.name!r}: the data of {file} is damaged (its checksum differs)")
        values = np.frombuffer(raw, dtype=dtype.newbyteorder("<")).astype(dtype)
        return values.reshape(self.shape)


def write_checkpoint(path: str | os.PathLike[str], variables: Mapping[str, np.ndarray]) -> None:
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
    _refuse_taken(target, set(variables))
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    except OSError as problem:
        raise CheckpointError(f"cannot save a checkpoint to {target}: {problem.strerror}") from problem
    try:
        _write_all(scratch, variables)
        _swap(scratch, target)
    except OSError as problem:
        raise CheckpointError(f"cannot save a checkpoint to {target}: {problem.strerror}") from problem
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def read_checkpoint(path: str | os.PathLike[str]) -> dict[str, StoredVariable]:
    """Return the variables of a checkpoint by name; their data is not read yet.

    Raises:
        CheckpointError: there is no such folder, it holds no variable, or a variable's description is unreadable.
    """
    folder = Path(path)
    if not folder.is_dir():
        previous = _previous(Path(os.path.abspath(path)))
        if not previous.is_dir():
            raise CheckpointError(f"there is no checkpoint folder {folder}", help="check the path; save one first")
        folder = previous  # a save was interrupted between its last two steps: the previous checkpoint is intact
    sums = _read_manifest(folder)
    if (folder / _DATA).is_file():
        return {folder.name: _read_meta(folder.name, folder, sums)}
    found = {
        item.name: _read_meta(item.name, item, sums)
        for item in sorted(folder.iterdir())
        if (item / _DATA).is_file() or item.name in sums
    }
    missing = [name for name in sums if name not in found]
    if missing or not found:
        what = f"variables {missing} are missing" if missing else "it contains no variables"
        raise CheckpointError(f"{folder} is not a complete checkpoint: {what}")
    return found


def _write_all(folder: Path, variables: Mapping[str, np.ndarray]) -> None:
    sums = {}
    for name, value in variables.items():
        if not name or name in (".", "..") or set(name) & {"/", "\\", "\0"}:
            raise CheckpointError(f"variable name {name!r} cannot be a folder's name in a checkpoint")
        array = np.ascontiguousarray(value).reshape(np.shape(value))
        raw = array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()
        place = folder / name
        place.mkdir()
        sizes: tuple[int, ...] = array.shape
        dims = "".join(f"  dim: {size}\n" for size in sizes)
        dtype = canonical_dtype(array.dtype)
        write_synced(place / _META, f"shape {{\n{dims}}}\ndata_type: {_OPKIT_NAMES.get(dtype, dtype)}\n".encode())
        write_synced(place / _DATA, raw)
        sums[name] = zlib.crc32(raw)
    write_synced(folder / _MANIFEST, json.dumps({"schema": 1, "crc32": sums}, indent=1, sort_keys=True).encode())
    write_synced(folder / _DONE, b"")


def _previous(target: Path) -> Path:
    return target.parent / f".{target.name}.previous"


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


def _read_manifest(folder: Path) -> dict[str, int]:
    file = folder / _MANIFEST
    if not file.is_file():
        return {}
    try:
        sums = json.loads(file.read_text("utf-8"))["crc32"]
        return {str(name): int(value) for name, value in sums.items()}
    except (ValueError, KeyError, TypeError, AttributeError, OSError) as problem:
        raise CheckpointError(f"{file} is damaged: {problem}") from problem


def _read_meta(name: str, folder: Path, sums: Mapping[str, int]) -> StoredVariable:
    file = folder / _META
    try:
        words = file.read_text("utf-8").replace("{", " ").replace("}", " ").split()
    except (OSError, UnicodeDecodeError) as problem:
        raise CheckpointError(f"variable {name!r}: cannot read {file}: {problem}") from problem
    shape: list[int] = []
    dtype = ""
    pairs = itertools.pairwise(words)
    try:
        for key, value in pairs:
            if key == "dim:":
                shape.append(int(value))
            elif key == "data_type:":
                dtype = canonical_dtype(_PROTO_NAMES.get(value, value))
        if not dtype or min(shape, default=0) < 0:
            raise ValueError("no data type, or a negative size")
        to_numpy(dtype)
    except (ValueError, TypeError) as problem:
        raise CheckpointError(f"variable {name!r}: {file} does not describe a variable: {problem}") from problem
    return StoredVariable(name, folder, tuple(shape), dtype, sums.get(name))
