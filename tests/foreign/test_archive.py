"""Archives that somebody else wrote: damaged, encrypted, overlapping or inflated ones are refused, in bounded memory."""

from __future__ import annotations

import contextlib
import io
import os
import struct
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opkit.foreign import FormatError, read_array, read_entries, read_file, read_json
from opkit.static.storage import StorageError, archive_of, arrays_of_archive, read_archive

pytestmark = pytest.mark.bounded

GOOD = archive_of({"w": np.arange(5.0), "step": np.array(7)})


def zipped(*entries: tuple[str, bytes], method: int = zipfile.ZIP_STORED) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", method) as archive:
        for name, content in entries:
            archive.writestr(name, content)
    return data.getvalue()


def npy(header: str, body: bytes = b"", version: bytes = b"\x01\x00") -> bytes:
    """Return a .npy file with any header."""
    width = 2 if version == b"\x01\x00" else 4
    return b"\x93NUMPY" + version + len(header).to_bytes(width, "little") + header.encode() + body


def described(descr: str, shape: str, body: bytes = b"") -> bytes:
    return npy(f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}\n", body)


def with_flag(data: bytes) -> bytes:
    """Mark every entry of an archive as encrypted."""
    found = bytearray(data)
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = data.find(mark)
        while at >= 0:
            found[at + offset] |= 1
            at = data.find(mark, at + 4)
    return bytes(found)


BAD = {
    "encrypted": with_flag(GOOD),
    "truncated": GOOD[: len(GOOD) // 2],
    "without its end": GOOD[:-10],
    "compressed": zipped(("names.json", b"[]" + b" " * 1000), method=zipfile.ZIP_DEFLATED),
    "another compression": zipped(("names.json", b"[]"), method=zipfile.ZIP_LZMA),
    "names nested too deep": zipped(("names.json", b"[" * 100_000)),
    "names that are no list": zipped(("names.json", b'{"a": 1}')),
    "a name that is no text": zipped(("names.json", b"[1]"), ("0.npy", described("'<f8'", "()", b"\0" * 8))),
    "one name twice": zipped(("names.json", b'["a", "a"]'), ("0.npy", GOOD), ("1.npy", GOOD)),
    "an array that nobody names": zipped(("names.json", b"[]"), ("0.npy", GOOD)),
    "an archive within it": zipped(("names.json", b'["a"]'), ("0.npy", GOOD)),
    "objects": zipped(("names.json", b'["a"]'), ("0.npy", described("'|O'", "(1,)", b"\x80\x04N."))),
    "records": zipped(("names.json", b'["a"]'), ("0.npy", described("[('a', '<f8')]", "(1,)", b"\0" * 8))),
    "3.5 PiB": zipped(("names.json", b'["a"]'), ("0.npy", described("'<f8'", "(492581209243648,)"))),
    "empty texts": zipped(("names.json", b'["a"]'), ("0.npy", described("'<U0'", "(1000000000000,)"))),
    "no elements on huge axes": zipped(("names.json", b'["a"]'), ("0.npy", described("'<f8'", "(0, 99999999999999)"))),
    "a shape that is code": zipped(("names.json", b'["a"]'), ("0.npy", described("'<f8'", "(().__class__,)"))),
    "a long header": zipped(("names.json", b'["a"]'), ("0.npy", npy(" " * 60_000))),
    "a negative size": zipped(("names.json", b'["a"]'), ("0.npy", described("'<f8'", "(-1,)"))),
    "a hundred axes": zipped(("names.json", b'["a"]'), ("0.npy", described("'<f8'", "(" + "1, " * 100 + ")", b"\0" * 8))),
    "two bytes too many": zipped(("names.json", b'["a"]'), ("0.npy", described("'<f8'", "()", b"\0" * 10))),
    "empty": b"",
    "text": b"hello",
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_a_bad_archive_is_refused_by_opkits_own_error(tmp_path: Path, name: str) -> None:
    """It names the file, and takes no more memory than a few times the file's size."""
    (tmp_path / "a").write_bytes(BAD[name])
    tracemalloc.start()
    try:
        with pytest.raises(StorageError, match="damaged or was not saved by opkit"):
            read_archive(tmp_path / "a")
        assert tracemalloc.get_traced_memory()[1] < 8_000_000
    finally:
        tracemalloc.stop()


def test_entries_that_overlap_are_refused() -> None:
    """Entries that share their bytes would be larger than the archive."""
    data = bytearray(zipped(("a", b"x" * 4000), ("b", b"y" * 4000), ("c", b"z" * 10)))
    first = data.find(b"PK\x01\x02")
    for place in (data.find(b"PK\x01\x02", first + 4), data.rfind(b"PK\x01\x02")):
        struct.pack_into("<II", data, place + 20, 4000, 4000)
        struct.pack_into("<I", data, place + 42, 0)
    with pytest.raises(FormatError, match="overlap"):
        read_entries(bytes(data))


def test_a_bomb_is_not_inflated() -> None:
    """Where compressed entries are read at all, they are refused by what they come to."""
    bomb = zipped(("a", b"\0" * 50_000_000), method=zipfile.ZIP_DEFLATED)
    assert len(bomb) < 60_000
    tracemalloc.start()
    try:
        with pytest.raises(FormatError, match="come to 50000000 bytes"):
            read_entries(bomb, inflated=1_000_000)
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


def test_a_bomb_that_lies_about_its_size_is_not_inflated() -> None:
    """An entry is inflated to the size that it says and no further."""
    bomb = bytearray(zipped(("a", b"\0" * 50_000_000), method=zipfile.ZIP_DEFLATED))
    for mark, offset in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        struct.pack_into("<I", bomb, bomb.find(mark) + offset, 1000)
    tracemalloc.start()
    try:
        with pytest.raises(FormatError, match="damaged"):
            read_entries(bytes(bomb), inflated=1_000_000)
        assert tracemalloc.get_traced_memory()[1] < 2_000_000
    finally:
        tracemalloc.stop()


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, len(GOOD) - 1), st.integers(0, 255)), min_size=1, max_size=4))
def test_a_flipped_byte_is_refused_or_harmless(changes: list[tuple[int, int]]) -> None:
    """Whatever bytes of an archive change, it is read or refused."""
    data = bytearray(GOOD)
    for place, value in changes:
        data[place] = value
    with contextlib.suppress(StorageError):
        arrays_of_archive(bytes(data), "a")


@settings(max_examples=40, deadline=None)
@given(st.binary(max_size=200), st.sampled_from([b"\x01\x00", b"\x02\x00", b"\x03\x00", b"\x09\x00"]))
def test_any_header_of_an_array_is_read_or_refused(header: bytes, version: bytes) -> None:
    """No header makes another error."""
    width = 2 if version == b"\x01\x00" else 4
    data = b"\x93NUMPY" + version + len(header).to_bytes(width, "little") + header
    with pytest.raises(FormatError):
        read_array(data)


@pytest.mark.parametrize("dtype", ["?", "i1", "<i2", ">i4", "u8", "f2", ">f8", "c8", "U3", "S4"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_what_numpy_writes_is_read(dtype: str, order: str) -> None:
    """Every kind of plain array comes back, in native byte order."""
    array = np.asarray(np.arange(6).reshape(2, 3), dtype, order=order)  # type: ignore[call-overload]
    data = io.BytesIO()
    np.lib.format.write_array(data, array)
    found = read_array(data.getvalue())
    np.testing.assert_array_equal(found, array)
    assert found.dtype == array.dtype.newbyteorder("=")


# ---- what is in the place of a file ----------------------------------------------------------------------------------
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes in folders here")
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    """A pipe in the place of a file is refused at once."""
    os.mkfifo(tmp_path / "a")
    with pytest.raises(FormatError, match="a pipe, not a file"):
        read_file(tmp_path / "a")
    with pytest.raises(StorageError, match="a pipe"):
        read_archive(tmp_path / "a")


def test_a_device_and_a_folder_are_refused(tmp_path: Path) -> None:
    """``/dev/zero`` has no end, a folder no bytes."""
    with pytest.raises(FormatError, match="a folder, not a file"):
        read_file(tmp_path)
    if os.path.exists("/dev/zero"):
        with pytest.raises(FormatError, match="a device, not a file"):
            read_file("/dev/zero")


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    """Its size is looked at first: a sparse file of a tebibyte takes no memory."""
    with open(tmp_path / "a", "wb") as stream:
        stream.truncate(1 << 40)
    with pytest.raises(FormatError, match="more than the"):
        read_file(tmp_path / "a")
    with pytest.raises(FormatError, match="more than the 10 that are read"):
        read_file(tmp_path / "a", most=10)


@pytest.mark.parametrize(
    "text", [b"NaN", b"[Infinity]", b"[" * 65 + b"]" * 65, b"\xff", b"{", b"[" * 10**6, b"1" * 5000]
)
def test_json_is_strict(text: bytes) -> None:
    """NaN, infinity, other encodings, unfinished and deeply nested texts are refused."""
    with pytest.raises(FormatError, match="JSON"):
        read_json(text)


def test_json_may_be_nested_a_little() -> None:
    """Sixty levels are read."""
    assert read_json(b"[" * 60 + b"]" * 60)
