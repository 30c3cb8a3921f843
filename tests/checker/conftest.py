"""Warnings of numpy inside user functions are silenced by the checker; tests that run them bare do the same."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest


@pytest.fixture(autouse=True)
def quiet_numpy() -> Iterator[None]:
    """Keep numpy's floating-point warnings out of tests of functions that leave their domain on purpose."""
    with np.errstate(all="ignore"):
        yield
