"""``opkit.deferred``: names of a package that are imported when they are first asked for."""

from __future__ import annotations

import sys

import pytest

import opkit
from opkit.deferred import deferred


def test_a_name_is_imported_from_its_home_and_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """The value is the home module's own, and the package keeps it."""
    monkeypatch.delitem(vars(opkit), "TensorDesc", raising=False)
    find = deferred("opkit", {"TensorDesc": "ir"})
    assert find("TensorDesc") is sys.modules["opkit.ir"].TensorDesc
    assert vars(opkit)["TensorDesc"] is sys.modules["opkit.ir"].TensorDesc


def test_an_unknown_name_is_an_attribute_error_that_names_the_package() -> None:
    """``hasattr`` and ``from package import name`` rely on it."""
    with pytest.raises(AttributeError, match=r"module 'opkit' has no attribute 'nothing'"):
        deferred("opkit", {})("nothing")
