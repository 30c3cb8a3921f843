"""Attempts: what becomes of an op whose check ended its process; the check is made again without the fatal call.

Starting processes is done elsewhere (``children``, ``spawn``).
"""

from __future__ import annotations

import math
from dataclasses import field, replace

from opkit.checker import CheckResult
from opkit.record import mutable
from opkit.verify.isolation.announced_calls import UserCall
from opkit.verify.isolation.blame import blame_death, is_avoidable
from opkit.verify.isolation.flight import Phase, Stop
from opkit.verify.isolation.supervisor import Death, Ended
from opkit.verify.options import RunOptions

#: Fatal calls, each unlike those before, after which an op as a whole is at fault. Each costs a check.
_MOST = 5
#: Seconds beyond the op's own in which a fatal call is found again, for its inputs.
_REPLAY = 0.6
_IN_CALL = (Phase.FORWARD, Phase.BACKWARD)


@mutable
class Attempts:
    """The attempts at one op.

    Args:
        limits: of the op, for messages.
        seconds: that are left of its time, infinity for no limit.
        is_gradcheck: a check goes on without the calls that ended it.
        most: fatal calls, each unlike those before, after which the op as a whole is at fault.
        stops: what the next attempt leaves out.
        call: the first fatal one, once it was found again.
        ends: of the attempts so far.
    """

    limits: str
    seconds: float
    is_gradcheck: bool
    most: float
    stops: tuple[Stop, ...] = ()
    call: UserCall | None = None
    ends: list[Ended] = field(default_factory=list)

    @staticmethod
    def of(options: RunOptions) -> Attempts:
        """Return those of an op of which nothing is known."""
        return Attempts(options.limits, options.timeout or math.inf, options.command == "gradcheck", _MOST)

    def heard(self, call: UserCall) -> None:
        """Note a call that is left out."""
        self.call = self.call or call

    def after(self, ended: Ended) -> float | None:
        """Enter the end of an attempt without a report.

        Returns:
            the seconds that another one gets, None where there is none.
        """
        self.ends.append(ended)
        self.seconds -= ended.seconds
        goes_on = self.is_gradcheck and len(self.stops) < self.most and self.seconds > 0 and is_avoidable(ended)
        is_done = ended.death is Death.DONE
        if is_done and self.stops and self.stops[-1].finding is not None and self.ends[-2].death is not Death.DONE:
            return max(self.seconds, 0.0) + _REPLAY  # it did not come to a call, as on a busy machine: once more
        is_over = is_done or ended.flight.phase not in _IN_CALL
        if is_over or (self.stops and (not goes_on or self.stops[-1].finding is None)):
            return None
        finding = blame_death(ended, self.limits) if goes_on else None
        self.stops += (Stop(ended.flight.calls, ended.flight.phase, ended.flight.mark, finding),)
        return max(self.seconds, 0.0) + _REPLAY

    @property
    def spent(self) -> float:
        """The seconds that all attempts took."""
        return sum(item.seconds for item in self.ends)

    def finding(self) -> CheckResult:
        """Return what there is to say of an op that no attempt reported on."""
        made, last = blame_death(self.ends[0], self.limits, self.call), self.ends[-1]
        if not self.stops or self.stops[0].finding is None:
            return made
        if is_avoidable(last):
            more = f"{len(self.stops)} calls with other shapes, options or values ended their processes too"
        elif last.death is Death.DONE:
            more = "a second check did not come to that call"
        else:
            more = f"without such calls: {blame_death(last, self.limits).message}"
        return replace(made, message=f"{made.message}; {more}")
