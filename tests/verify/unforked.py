"""A zygote that believes that its platform cannot fork: what a fresh interpreter runs in test_unforked."""

from __future__ import annotations

from opkit.verify.isolation import supervisor

supervisor.can_fork = lambda: False

from opkit.verify.workers.zygote import main  # noqa: E402

__all__ = ["main"]
