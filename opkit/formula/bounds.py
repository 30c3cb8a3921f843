"""Bounds: which formulas are short, flat and small enough that reading and deriving them ends soon.

Exact arithmetic has no limit of its own: ``9**9**9`` alone would take hours.
"""

from __future__ import annotations

import ast
import math

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
