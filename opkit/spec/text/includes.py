"""Includes: which header is opkit's own business, and where the others are found on disk.

Headers of OneFlow's framework are never read: what definitions use of them is built into the compiler.
"""

from __future__ import annotations

from pathlib import Path

_BUILT_IN_PREFIXES = (
    "oneflow/core/",
    "oneflow/user/kernels/",
    "oneflow/user/utils/",
    "oneflow/user/image/",
    "oneflow/user/data/",
    "oneflow/user/ops/nn_util.h",
    "oneflow/user/ops/reshape_user_op_util.h",
    "oneflow/user/ops/comm_net_device_infer_util.h",
)


def is_built_in(name: str) -> bool:
    """Return whether a header's contents are built into the compiler."""
    return name.startswith(_BUILT_IN_PREFIXES)


def find_include(name: str, includer: str, folders: tuple[str, ...]) -> Path | None:
    """Find a quoted include: beside the including file, in the given folders, then in its ancestors.

    The ancestors serve sources in their own tree, where includes are written from the tree's root.
    """
    if "\0" in name or Path(name).is_absolute():
        return None
    beside = Path(includer).parent
    try:
        for folder in (beside, *map(Path, folders), *list(beside.absolute().parents)[:8]):
            found = folder / name
            if found.is_file():
                return found
    except OSError:
        return None
    return None
