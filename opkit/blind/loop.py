"""Loop: the training loop that an ordinary process runs.

Which function is called is the player's business; who asks, and over what, is the server's.
"""

from __future__ import annotations

from collections.abc import Callable

from opkit.blind.call import Answers, Request, Step, Taken
from opkit.blind.players import Player
from opkit.replaced import put_back


def answers_of(player: Player, request: Request) -> Answers:
    """Go through the steps: on fresh arrays, which are freed at once, then on arrays that are filled again."""
    turns: list[list[Taken]] = [[]]
    try:
        for step in request.steps:
            turns[0].append(_fresh(player, step))
        held: dict[int, list[object]] = {}
        for _ in range(request.again):
            turns.append([])
            for step in request.steps:
                turns[-1].append(_refilled(player, step, held))
    except BaseException as error:  # user code; it ran without complaint where it was checked
        return Answers(turns, raised=f"{type(error).__name__}: {error}", changed=put_back())
    return Answers(turns, changed=put_back())


def _fresh(player: Player, step: Step) -> Taken:
    return player.play(step.form, list(map(player.made, step.form.leaves, step.arrays)), step.douts)


def _refilled(player: Player, step: Step, held: dict[int, list[object]]) -> Taken:
    known = held.get(id(step.form))
    if known is None:
        known = list(map(player.made, step.form.leaves, step.arrays))
    else:
        known = list(map(player.fill, known, step.arrays))
    held[id(step.form)] = known
    return player.play(step.form, known, step.douts)


def performed(load: Callable[[], Player], read: Callable[[], Request]) -> Answers:
    """Load a function, then take the request, whose objects may be of the function's own file, and answer it."""
    try:
        player = load()
        request = read()
    except BaseException as error:  # a file may leave the interpreter; it did not where it was checked
        return Answers(unloaded=f"{type(error).__name__}: {error}")
    return answers_of(player, request)
