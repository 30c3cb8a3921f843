"""A run as the JSON object of the contract, schema 1.

The object comes from the Report; only its text is made here.
"""

from __future__ import annotations

import json
import re
from typing import Any

from opkit.reporters.run import RunView

#: What JSON may hold as it is and a terminal or UTF-8 may not: within texts only, so that an escape is always right.
_ESCAPED = re.compile("[\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def json_report(run: RunView) -> str:
    """Return the run as one JSON object, with a line end; NaN and infinity are strings."""
    return json_text(run.report.to_json())


def json_text(data: Any) -> str:
    r"""Return data as JSON that any terminal and any reader of UTF-8 can take, with a line end.

    Characters of control, and halves of characters, are escaped; all other text is as it is.

    >>> print(json_text({"name": "\x9bé"}), end="")
    {
      "name": "\u009bé"
    }
    """
    text = json.dumps(data, indent=2, allow_nan=False, ensure_ascii=False)
    return _ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", text) + "\n"
