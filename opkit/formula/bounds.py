"""Bounds: which formulas are short, flat and small enough that reading and deriving them ends soon.

Exact arithmetic has no limit of its own: ``9**9**9`` alone would take hours.

Budget: the processor's time and the stack that deriving a formula may use.

What a formula may be before anything is computed is not decided here, but in ``opkit.formula.bounds``.
"""

from __future__ import annotations

import ast
import contextlib
import math
import signal
import sys
import threading
from collections.abc import Iterator

import sympy

from opkit.errors import UsageError
from opkit.formula.language import Expr

#: Characters of a formula, depth of its expressions, and the largest whole exponent of what holds an input.
_LONGEST, _DEEPEST, _LARGEST_POWER = 10_000, 100, 300
#: Bits of a constant: float64 holds none that has more.
_MOST_BITS = 1100


def check_text(text: str) -> None:
    """Refuse a text that is too long for a formula.

    Raises:
        UsageError: it is.
    """
    if len(text) > _LONGEST:
        raise UsageError(f"the formula has {len(text)} characters, more than {_LONGEST}")


def parsed(text: str) -> list[ast.stmt]:
    """Return the statements of a text in Python's syntax.

    Raises:
        SyntaxError: it is not in Python's syntax.
        UsageError: an expression is nested too deep.
    """
    try:
        body = ast.parse(text, mode="exec").body
    except (RecursionError, MemoryError):
        raise _too_deep() from None
    except ValueError as error:  # a zero byte
        raise SyntaxError(str(error)) from None
    level: list[ast.AST] = list(body)
    for _ in range(_DEEPEST):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
    if level:
        raise _too_deep()
    return body


def _too_deep() -> UsageError:
    return UsageError(
        f"the formula is nested more than {_DEEPEST} deep", help="split it: name parts, such as t = a + b; y = t * c"
    )


def check_number(value: float, written: str) -> None:
    """Refuse a constant that is not finite in float64.

    Raises:
        UsageError: it is not.
    """
    if isinstance(value, int) and value.bit_length() < _MOST_BITS:
        return
    if isinstance(value, int) or not math.isfinite(value):
        raise _beyond(written)


def check_power(base: Expr, exponent: Expr, written: str) -> None:
    """Refuse a power before it is computed, where it would be a number or a polynomial that is too large.

    Raises:
        UsageError: it is.
    """
    if not exponent.is_number or not exponent.is_real:
        return
    size = _magnitude(exponent, written)
    if base.is_number:
        parts = (abs(base.p), base.q) if base.is_Rational else (_magnitude(base, written),)
        bits = max(abs(math.log2(part or 1)) for part in parts)
        if size * bits > _MOST_BITS:
            raise _beyond(written)
        return
    inner = max((_magnitude(item.exp, written) for item in base.atoms(sympy.Pow) if item.exp.is_Rational), default=1.0)
    if size * max(inner, 1.0) > _LARGEST_POWER and base.has(sympy.Add):
        raise UsageError(
            f"the formula has {written!r}: powers of sums have exponents up to {_LARGEST_POWER}",
            help="exp(n * log(x)) computes a larger one",
        )


def check_constant(value: Expr, written: str) -> None:
    """Refuse a constant expression that is beyond what float64 holds.

    Raises:
        UsageError: it is.
    """
    if value.is_number and value.is_real:
        _magnitude(value, written)


def _magnitude(value: Expr, written: str) -> float:
    try:
        found = abs(float(sympy.N(value, 15, maxn=100)))
    except (OverflowError, ValueError, TypeError):
        raise _beyond(written) from None
    if not math.isfinite(found):
        raise _beyond(written)
    return found


def _beyond(written: str) -> UsageError:
    return UsageError(f"the formula has {written[:60]!r}: the number is beyond what float64 holds")


#: Seconds of the processor. Ordinary formulas take one or two; algebra of what is nested may take for ever.
MOST_SECONDS = 10.0
#: Seconds after which the end is asked for again, where the first time was lost in a callback.
_AGAIN = 0.05
_HELP = "split it into ops of their own, or write the kernels by hand: opkit new NAME --kind elementwise"


class _Spent(BaseException):
    """The time is over; no ``except Exception`` of an algebra system stops it."""


@contextlib.contextmanager
def within_budget() -> Iterator[None]:
    """Let what is done in a ``with`` block end within the budget.

    In other threads than the first, and on Windows, time has no bound: nothing could interrupt them.

    Raises:
        UsageError: the block took too long, too deep a stack or more memory than there is.
    """
    has_ended: list[bool] = []
    try:
        with _timed(has_ended):
            yield
    except (_Spent, SystemError):  # CPython's compiler takes what interrupts it for a fault of its own
        if not has_ended:
            raise
        raise UsageError(
            f"deriving the formula takes more than {MOST_SECONDS:g} seconds of the processor", help=_HELP
        ) from None
    except RecursionError:
        raise UsageError("the formula with its parts put in is nested too deep to be derived", help=_HELP) from None
    except MemoryError:
        raise UsageError("deriving the formula takes more memory than there is", help=_HELP) from None


@contextlib.contextmanager
def _timed(has_ended: list[bool]) -> Iterator[None]:
    if sys.platform == "win32" or threading.current_thread() is not threading.main_thread():
        yield
        return
    is_running = [True]

    def end(number: int, frame: object) -> None:
        if is_running[0]:
            has_ended.append(True)
            raise _Spent

    handler = signal.signal(signal.SIGVTALRM, end)
    before = signal.setitimer(signal.ITIMER_VIRTUAL, MOST_SECONDS, _AGAIN)
    try:
        try:
            yield
        finally:
            is_running[0] = False
    finally:  # twice: the end may come on the way out, too
        is_running[0] = False
        signal.setitimer(signal.ITIMER_VIRTUAL, *before)
        signal.signal(signal.SIGVTALRM, handler)
