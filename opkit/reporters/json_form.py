"""A run as the JSON object of the contract, schema 1.

The object comes from the Report; only its text is made here.
"""

from __future__ import annotations

import json

from opkit.reporters.run import RunView

__all__ = ["json_report"]


def json_report(run: RunView) -> str:
    """Return the run as one JSON object, with a line end; NaN and infinity are strings."""
    return json.dumps(run.report.to_json(), indent=2, allow_nan=False, ensure_ascii=False) + "\n"
