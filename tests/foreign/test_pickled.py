"""Pickles that somebody else wrote: containers and arrays are read, everything else is refused, nothing is called."""

from __future__ import annotations

import contextlib
import os
import pickle
import tracemalloc
from collections import OrderedDict
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opkit.foreign import FormatError, NamesCodeError, read_pickle

pytestmark = pytest.mark.bounded

PLAIN: dict[str, Any] = {
    "matrix": np.arange(6.0).reshape(2, 3),
    "fortran": np.asfortranarray(np.arange(6, dtype=np.int32).reshape(2, 3)),
    "empty": np.zeros((0, 3), np.float16),
    "scalar": np.array(5.0),
    "swapped": np.arange(3, dtype=">i4"),
    "text": np.array(["ab", "c"]),
    "pair": ("name", np.ones(2, np.float32)),
    "ordered": OrderedDict(a=1, b=None),
    "numbers": [1, -5, 2.5, 2**70, True, 1 + 2j, np.float32(3), np.int64(4), *range(250, 260)],
    "bytes": [b"", b"abc", "é\ud800"],
    "nested": [[[{}]], (), ((),)],
    "many": {index: str(index) for index in range(300)},
}


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
@pytest.mark.parametrize("name", PLAIN)
def test_plain_objects_come_back(protocol: int, name: str) -> None:
    """As pickle itself reads them, in native byte order."""
    found, expected = read_pickle(pickle.dumps(PLAIN[name], protocol)), PLAIN[name]
    assert type(found) is type(expected)
    if isinstance(expected, np.ndarray):
        np.testing.assert_array_equal(found, expected)
        assert (found.dtype, found.flags.writeable) == (expected.dtype.newbyteorder("="), True)
    else:
        assert repr(found) == repr(expected)


def test_an_object_that_is_there_twice_is_one_object() -> None:
    """As in pickle."""
    array = np.ones(3)
    found = read_pickle(pickle.dumps([array, array]))
    assert found[0] is found[1]


def reduced(call: Any, *args: Any) -> bytes:
    class Made:
        def __reduce__(self) -> Any:
            return call, args

    return pickle.dumps(Made(), 4)


@pytest.mark.parametrize(
    "data",
    [
        reduced(os.getcwd),
        reduced(eval, "1"),
        reduced(np.load, "a"),
        reduced(bytearray, 10**9),
        pickle.dumps(np.dtype),
        pickle.dumps({1, 2}),
        b"\x80\x02cos\nsystem\n.",
        b"\x80\x04\x8c\x02os\x8c\x06system\x93.",
    ],
)
def test_a_name_of_something_else_is_refused(data: bytes) -> None:
    """Functions, classes and modules; the message has the name."""
    with pytest.raises((NamesCodeError, FormatError), match=r"refers to|do not need|holds a name"):
        read_pickle(data)


def scalar_of(dtype: str, raw: bytes) -> bytes:
    """Return a pickle of ``numpy.core.multiarray.scalar(dtype, raw)``."""
    return (
        b"\x80\x02cnumpy.core.multiarray\nscalar\ncnumpy\ndtype\nX" + len(dtype).to_bytes(4, "little") + dtype.encode()
        + b"K\0K\1\x87RC" + bytes([len(raw)]) + raw + b"\x86R."
    )  # fmt: skip


def itself() -> bytes:
    held: list[Any] = []
    held.append(held)
    return pickle.dumps(held)


def deep() -> bytes:
    return b"\x80\x02" + b"]" * 20_000 + b"a" * 19_999 + b"."


BAD = {
    "a scalar of objects": scalar_of("O8", b"\0" * 8),
    "a dtype of records": scalar_of("V8", b"\0" * 8),
    "a dtype that is code": scalar_of("i4,O", b"\0" * 8),
    "a huge memo index": b"\x80\x02Nr\xff\xff\xff\xff",
    "an object that is not there": b"\x80\x02j\xff\xff\xff\xff.",
    "a huge text": b"\x80\x04\x8d\xff\xff\xff\xff\xff\xff\xff\x7f",
    "a huge number": b"\x80\x02\x8b\xff\xff\xff\x7f",
    "itself": itself(),
    "a deep one": deep(),
    "a mark": b"\x80\x02(.",
    "nothing": b"\x80\x02.",
    "two objects": b"\x80\x02NN.",
    "a name": b"\x80\x02cnumpy\nndarray\n.",
    "a name in a list": b"\x80\x02]cnumpy\nndarray\na.",
    "an unfilled array": b"\x80\x02cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\0\x85C\x01b\x87R.",
    "the class of arrays called": b"\x80\x02cnumpy\nndarray\nK\x05\x85R.",
    "an unhashable key": b"\x80\x02}]Ns.",
    "popped too much": b"\x80\x02\x87.",
    "protocol 0": pickle.dumps([1, 2], 0),
    "empty": b"",
    "garbage": b"garbage",
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_pickle_is_refused(name: str) -> None:
    """It takes no more memory than a few times its size."""
    tracemalloc.start()
    try:
        with pytest.raises(FormatError):
            read_pickle(BAD[name])
        assert tracemalloc.get_traced_memory()[1] < 1_000_000 + 100 * len(BAD[name])
    finally:
        tracemalloc.stop()


def test_one_block_of_bytes_does_not_become_many_arrays() -> None:
    """Arrays take no more memory in all than the file has bytes."""
    raw = b"\0" * 80_000
    head = b"\x80\x02(cnumpy.core.numeric\n_frombuffer\nq\0cnumpy\ndtype\nX\x02\0\0\0f8\x85Rq\1B" + len(raw).to_bytes(
        4, "little"
    )
    one = b"h\0(h\2h\1M\x10\x27\x85X\x01\0\0\0CtR"
    data = head + raw + b"q\2" + one * 1000 + b"l."
    with pytest.raises(FormatError):
        read_pickle(data)
    data = head + raw + b"q\2" + one * 1000 + b"t."
    with pytest.raises(FormatError, match="larger than the file"):
        read_pickle(data)


def test_references_do_not_multiply() -> None:
    """A list that holds one list twice, and so on a hundred times, is read in the time of its bytes."""
    held: list[Any] = [1]
    for _ in range(98):
        held = [held, held]
    assert read_pickle(pickle.dumps(held))[0]


_BYTES = [
    pickle.dumps({"w": np.arange(3.0), "t": ("n", np.ones(2)), "o": OrderedDict(a=[1, 2.5, "x"])}, p) for p in (2, 4)
]


@settings(max_examples=120, deadline=None)
@given(st.sampled_from(_BYTES), st.lists(st.tuples(st.integers(0, 400), st.integers(0, 255)), min_size=1, max_size=5))
def test_changed_bytes_are_read_or_refused(data: bytes, changes: list[tuple[int, int]]) -> None:
    """No byte makes another error."""
    held = bytearray(data)
    for place, value in changes:
        held[place % len(held)] = value
    with contextlib.suppress(FormatError):
        read_pickle(bytes(held))


@settings(max_examples=80, deadline=None)
@given(st.lists(st.sampled_from([b"(", b"N", b"}", b"]", b")", b"t", b"\x85", b"\x86", b"K\x01", b"h\0", b"q\0", b"\x94", b"R", b"b", b"a", b"e", b"s", b"u", b"cnumpy\nndarray\n", b"cnumpy\ndtype\n", b"cnumpy.core.multiarray\n_reconstruct\n", b"cnumpy.core.multiarray\nscalar\n", b"cbuiltins\ntuple\n", b"X\x02\0\0\0f8", b"C\x01b"]), max_size=30))  # fmt: skip
def test_any_order_of_steps_is_read_or_refused(steps: list[bytes]) -> None:
    """Programs of legal steps in any order make an object or are refused."""
    with contextlib.suppress(FormatError):
        read_pickle(b"\x80\x02" + b"".join(steps) + b".")
