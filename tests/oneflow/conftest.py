"""Every test of jobs starts with an empty session and no op directories loaded."""

from __future__ import annotations

import importlib

import pytest

import opkit.oneflow as flow

session_module = importlib.import_module("opkit.oneflow.session")


@pytest.fixture(autouse=True)
def _fresh_session(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_module, "_default", session_module.Session())
    monkeypatch.setattr(importlib.import_module("opkit.oneflow.job")._mode, "is_eager", False)
    assert not flow.eager_execution_enabled()
