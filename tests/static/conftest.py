"""Every test builds in fresh programs, names and a fresh scope, in static mode; dynamic mode is back afterwards."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import opkit.paddle  # noqa: F401 - gives Variables Paddle's methods
from opkit import static
from opkit.ir import Program


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    with static.guard_names(), static.scope_guard(static.Scope()):
        held = static.switch_default_programs(Program(), Program())
        static.enable_static()
        try:
            yield
        finally:
            static.disable_static()
            static.switch_default_programs(*held)
