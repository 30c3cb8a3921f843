"""``flow.watch``, ``flow.watch_diff`` and ``flow.losses`` (v0.4)."""

from __future__ import annotations

from typing import Any

from opkit.oneflow.job import handler_of
from opkit.oneflow.session import session


def watch(blob_watched: Any, handler_or_prompt: Any = None) -> None:
    """Call a handler with the blob whenever the job computed it; a text, or nothing, prints it.

    A handler whose parameter is annotated ``oneflow.typing.Numpy`` gets an array, else an object with ``numpy()``.

    Raises:
        UsageError: it is called outside a job.
    """
    job = session().current_job("flow.watch")
    job.watch(blob_watched, handler_of(handler_or_prompt, "watch:"))


def watch_diff(blob_watched: Any, handler_or_prompt: Any = None) -> None:
    """Call a handler with the gradient of the loss with respect to the blob; see ``watch``.

    Raises:
        UsageError: it is called outside a job.
    """
    job = session().current_job("flow.watch_diff")
    job.watch_diff(blob_watched, handler_of(handler_or_prompt, "watch_diff:"))


class losses:
    """``flow.losses``."""

    @staticmethod
    def add_loss(loss: Any) -> None:
        """Add a loss for the optimizer that the job's FunctionConfig describes (``config.train``).

        Raises:
            OutsideJobError: it is called outside a job (also a NotImplementedError, which OneFlow raises).
        """
        session().current_job("flow.losses.add_loss").add_loss(loss)
