"""Dynamic mode, as the facade sets it up."""

from __future__ import annotations

import opkit.paddle  # noqa: F401 - gives Tensor its named methods
