"""Site: the line of the user's own file that is calling, found by leaving opkit's frames behind."""

from __future__ import annotations

import os
import sys
from types import CodeType, FrameType

#: File, line, function.
Site = tuple[str, int, str]

_OWN = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_is_own: dict[CodeType, bool] = {}


def user_site() -> Site | None:
    """Return where the nearest caller outside opkit stands, None where there is none."""
    frame: FrameType | None = sys._getframe(1)
    known = _is_own
    while frame is not None:
        code = frame.f_code
        own = known.get(code)
        if own is None:
            file = code.co_filename
            own = known[code] = file.startswith((_OWN, "<opkit", "<frozen"))
        if not own:
            return (code.co_filename, frame.f_lineno, code.co_name)
        frame = frame.f_back
    return None
