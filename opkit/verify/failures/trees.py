"""Trees: how the arrays of an input stand in the tree that a function takes, as Python text for a script.

A fresh interpreter loads the target once more and says so; the arrays are those of the failure.
"""

from __future__ import annotations

from collections.abc import Mapping

from opkit.verify.failures.store import Failure
from opkit.verify.isolation.child import FreshCall, Outbox, Task
from opkit.verify.isolation.supervisor import Supervisor, can_fork
from opkit.verify.options import RunOptions
from opkit.verify.targets.load import load
from opkit.verify.targets.target import resolve

#: Seconds for loading and some calls where the run has no time limit.
_SECONDS = 60.0


def trees(failure: Failure, options: RunOptions) -> Mapping[str, str] | None:
    """Return {input: text}, ``leaf[0]``, ``leaf[1]`` ... in it for its arrays; none for a plain list of arrays.

    None where some tree has no text (its class cannot be named), or where the target cannot be loaded.
    """
    if not can_fork():
        return None
    task = Task(0, FreshCall(__name__, (failure, options)), options.timeout or _SECONDS)
    found = next((message for _, message in Supervisor(1).run([task]) if isinstance(message, dict)), None)
    return None if found is None or "" in found.values() else found


def run(failure: Failure, options: RunOptions, outbox: Outbox) -> None:
    """Load the target of a failure and send its trees; in a fresh interpreter.

    What no case shows, the script that called the function does.
    """
    outbox.allow(options.memory)
    root, name = str(failure.facts.get("root")), str(failure.facts["op"]).rpartition("::")[2]
    found: dict[str, str] = {}
    for word in (f"{root}::{name}", root):
        if not found:
            (target,) = resolve([word])
            load(target, options, outbox.flight)
            from opkit.verify.subjects.jax.trees import texts_known_of  # not before the file has imported JAX

            found = texts_known_of(name)
    outbox.send(found)
