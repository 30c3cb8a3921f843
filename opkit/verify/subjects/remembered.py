"""Remembered: answers of the user's definitions, which are asked about the same few signatures again and again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

Answer = TypeVar("Answer")
#: Answers that are kept.
_MOST = 4096


def remembered(answers: dict[Any, Answer], key: Any, make: Callable[[], Answer]) -> Answer:
    """Return the answer to what a key stands for, found out where it is not known; beyond so many all are forgotten."""
    if key not in answers:
        if len(answers) >= _MOST:
            answers.clear()
        answers[key] = make()
    return answers[key]
