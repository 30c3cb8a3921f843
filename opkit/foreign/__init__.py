"""Foreign: reading files that anybody may have written, as data and nothing else.

Each reader knows the few shapes that are legal and has bounds on size, depth and count; what is in a file is never
called, imported or unpickled. What the data mean is decided by the callers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from opkit.deferred import deferred

if TYPE_CHECKING:
    from opkit.foreign.array import read_array
    from opkit.foreign.files import FormatError, read_entries, read_file
    from opkit.foreign.pickled import NamesCodeError, read_pickle
    from opkit.foreign.record import Record, read_json

__all__ = [
    "FormatError",
    "NamesCodeError",
    "Record",
    "read_array",
    "read_entries",
    "read_file",
    "read_json",
    "read_pickle",
]

_HOMES = {
    "FormatError": "files",
    "NamesCodeError": "pickled",
    "Record": "record",
    "read_array": "array",
    "read_entries": "files",
    "read_file": "files",
    "read_json": "record",
    "read_pickle": "pickled",
}

__getattr__ = deferred(__name__, _HOMES)
