"""Loop: the training loop that an ordinary process runs.

Which function is called is the player's business; who asks, and over what, is the server's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from threading import Thread

from opkit.blind.call import Answers, Manner, Request, Step, Taken
from opkit.blind.clocks import pass_time
from opkit.blind.players import Player
from opkit.replaced import put_back

#: Steps that are gone through in the manners that differ little from others.
_FEW = 2


def answers_of(player: Player, request: Request) -> Answers:
    """Go through the steps in each manner; where nothing is refilled, arrays are fresh and freed at once."""
    turns: list[list[Taken]] = []
    held: dict[int, list[object]] = {}
    try:
        for manner in Manner:
            turns.append([])
            is_whole = manner in (Manner.FRESH, Manner.REFILLED)
            for step in request.steps if is_whole else request.steps[:_FEW]:
                try:
                    turns[-1].append(_taken(player, step, manner, held))
                except Exception:
                    if manner in (Manner.FRESH, Manner.REFILLED, Manner.LATER):  # a function need not offer others
                        raise
                    break
    except BaseException as error:  # user code; it ran without complaint where it was checked
        return Answers(turns, raised=f"{type(error).__name__}: {error}", changed=put_back())
    return Answers(turns, changed=put_back())


def _taken(player: Player, step: Step, manner: Manner, held: dict[int, list[object]]) -> Taken:
    form = step.form
    if manner is Manner.LATER:
        pass_time()
    if manner is Manner.INFERENCE:
        leaves = tuple(replace(leaf, takes_gradient=False) for leaf in form.leaves)
        return player.play(replace(form, leaves=leaves), list(map(player.made, leaves, step.arrays)), (), manner)
    known = held.get(id(form)) if manner is Manner.REFILLED else None
    if known is None:
        known = list(map(player.made, form.leaves, step.arrays))
    else:
        known = list(map(player.fill, known, step.arrays))
    if manner is Manner.REFILLED:
        held[id(form)] = known
    if manner is Manner.BESIDE:
        return _beside(lambda: player.play(form, known, step.douts, manner))
    return player.play(form, known, step.douts, manner)


def _beside(call: Callable[[], Taken]) -> Taken:
    """Return what a call gives in a thread of its own.

    Raises:
        Exception: what it raises.
    """
    given: list[Taken | BaseException] = []

    def run() -> None:
        try:
            given.append(call())
        except BaseException as error:
            given.append(error)

    thread = Thread(target=run)
    thread.start()
    thread.join()
    if isinstance(given[0], BaseException):
        raise given[0]
    return given[0]


def performed(load: Callable[[], Player], read: Callable[[], Request]) -> Answers:
    """Load a function, then take the request, whose objects may be of the function's own file, and answer it."""
    try:
        player = load()
        request = read()
    except BaseException as error:  # a file may leave the interpreter; it did not where it was checked
        return Answers(unloaded=f"{type(error).__name__}: {error}")
    return answers_of(player, request)
