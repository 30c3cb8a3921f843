"""What goes wrong with hostile kernels today: name -> what happens. Written by tests.campaigns.hostile."""

from __future__ import annotations

__all__ = ["NOT_YET"]

#: Run as strict expected failures, so that what is mended must be taken out.
NOT_YET: dict[str, str] = {}
