"""Names that a framework has and opkit lacks are reported when they are used."""

from __future__ import annotations

import pytest

from opkit.errors import MissingNameError
from opkit.shim.missing import guard


def test_a_missing_name_is_reported_with_the_nearest() -> None:
    """The error says which name is missing and what the module has instead; private names are not offered."""
    missing = guard("opkit.paddle.nn", {"Linear": 1, "_linaer": 2})
    with pytest.raises(MissingNameError) as caught:
        missing("Linaer")
    assert "opkit has no paddle.nn.Linaer" in str(caught.value)
    assert "paddle.nn.Linear" in str(caught.value)
    assert "_linaer" not in str(caught.value)


def test_names_that_come_later_are_offered() -> None:
    """The module's names are looked at when one is missing, so a module may guard itself before it is filled."""
    names: dict[str, int] = {}
    missing = guard("flow.nn", names)
    names["relu"] = 1
    with pytest.raises(MissingNameError, match=r"flow\.nn\.relu"):
        missing("rleu")


def test_where_nothing_is_near_another_hint_stands() -> None:
    """The hint that a module gives for names unlike its own is shown."""
    with pytest.raises(MissingNameError, match="see the page"):
        guard("flow", ["relu"], otherwise="see the page")("zzzzzzzz")


def test_python_asks_for_its_own_names_without_advice() -> None:
    """``__path__`` and the like are plain AttributeErrors."""
    with pytest.raises(AttributeError) as caught:
        guard("flow", [])("__path__")
    assert not isinstance(caught.value, MissingNameError)
