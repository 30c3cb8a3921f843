"""Trees: how the arrays of an input stand in the tree that a function takes, as Python text for a script.

A fresh interpreter loads the target once more and says so; the arrays are those of the failure.
"""

from __future__ import annotations

from collections.abc import Mapping

from opkit.verify.failures.reloaded import Request, asked, loaded
from opkit.verify.failures.store import Failure
from opkit.verify.isolation.child import Outbox
from opkit.verify.options import RunOptions
from opkit.verify.subjects.foreign.framework import loaded_frameworks


def trees(failure: Failure, options: RunOptions) -> Mapping[str, str] | None:
    """Return {input: text}, ``leaf[0]``, ``leaf[1]`` ... in it for its arrays; none for a plain list of arrays.

    None where some tree has no text (its class cannot be named), or where the target cannot be loaded.
    """
    found = asked(__name__, failure, options)
    if not isinstance(found, dict):
        return None
    texts = {str(name): str(text) for name, text in found.items()}
    return None if "" in texts.values() else texts


def run(request: Request, outbox: Outbox) -> None:
    """Load the target of a failure and send its trees; in a fresh interpreter.

    What no case shows, the script that called the function does.
    """
    loaded(request, outbox)
    name = str(request.failure.facts["op"]).rpartition("::")[2]
    if not (found := _known(name)):
        loaded(request, outbox, is_script=True)
        found = _known(name)
    outbox.send(found)


def _known(name: str) -> dict[str, str]:
    return {key: text for framework in loaded_frameworks() for key, text in framework.trees_of(name).items()}
