"""Options of a run: numbers and shapes that cannot be meant are refused before anything runs."""

from __future__ import annotations

import math
from typing import Any

import pytest

from opkit import gradcheck
from opkit.blind.limits import limit_memory
from opkit.errors import UsageError
from opkit.verify.options import RunOptions


@pytest.mark.parametrize(
    "given",
    [
        {"effort": math.nan},
        {"effort": math.inf},
        {"effort": -1.0},
        {"timeout": math.nan},
        {"memory": -1},
        {"memory": 1},
        {"shapes": {"x": (10**11, 10**11)}},
        {"shapes": {"x": (10**400,)}},
        {"shapes": {"x": (1,) * 65}},
    ],
    ids=str,
)
def test_what_cannot_be_meant_is_refused(given: dict[str, Any]) -> None:
    """With the option's or the input's name."""
    with pytest.raises(UsageError, match=r"effort|timeout|memory|'x'"):
        RunOptions.of(given)


@pytest.mark.parametrize("name", ["select", "ignore"])
def test_a_code_that_there_is_not_is_refused(name: str) -> None:
    """In Python as on the command line; the nearest is named."""
    with pytest.raises(UsageError, match=f"{name}: gradcheck has no check 'GC1001'"):
        RunOptions.of({name: ["GC1001"]})


def test_codes_may_be_given_as_on_the_command_line() -> None:
    """In one string, with commas between them."""
    assert RunOptions.of({"select": "GC101, gc105"}).check.select == {"GC101", "GC105"}


@pytest.mark.parametrize("name", ["surrogate", "tolerance", "allow"])
def test_what_is_a_declaration_is_not_taken_for_a_misspelt_option(name: str) -> None:
    """Where it belongs is said."""
    with pytest.raises(UsageError, match=f"{name.upper()} is declared beside"):
        RunOptions.of({name: {}})


def test_more_memory_than_there_are_addresses_is_no_limit() -> None:
    """The system's limit is a number of 64 bits."""
    assert not limit_memory(10**16)


def test_what_is_no_target_is_refused() -> None:
    """Not as a TypeError of Python's."""
    with pytest.raises(UsageError, match="or a class or function of a framework, got 5"):
        gradcheck(5)  # type: ignore[arg-type]
