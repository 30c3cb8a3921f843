"""Every test of jobs starts with an empty session."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import opkit.oneflow as flow


@pytest.fixture(autouse=True)
def _fresh_session() -> Iterator[Any]:
    flow.clear_default_session()
    flow.enable_eager_execution(False)
    yield
    flow.enable_eager_execution(False)
    flow.clear_default_session()
