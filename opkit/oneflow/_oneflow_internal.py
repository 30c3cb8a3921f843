"""What v0.4 compiles of C++: scripts of its time import it beside ``oneflow``, and nothing of it is here."""

from __future__ import annotations

from opkit.shim.missing import guard

__all__: list[str] = []

__getattr__ = guard("oneflow._oneflow_internal", __all__)
