"""The functions that a formula may call: their derivatives, and how numpy, ``math`` and high precision compute each.

A function of one element is a sympy function whose derivative is already in the form that neither overflows nor
cancels. Functions over an axis are ``opkit.formula.graph``'s.

The module is long because it is one table: each function with its derivative.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import mpmath
import sympy

from opkit.record import record

#: A sympy expression; sympy has no types of its own.
Expr = Any


class _Real(sympy.Function):  # type: ignore[misc]
    """A function of real arguments with a real result, which sympy is not to evaluate."""

    is_extended_real = True
    is_real = True
    is_commutative = True
    #: The derivative by each argument, as a function of all of them; none where the language has no name for it.
    slopes: ClassVar[tuple[Callable[..., Expr], ...]] = ()

    def fdiff(self, argindex: int = 1) -> Expr:
        """Return the derivative by an argument, which ``slopes`` says."""
        if not self.slopes:
            raise NotImplementedError(type(self).__name__)
        return self.slopes[argindex - 1](*self.args)

    @classmethod
    def eval(cls, *args: Expr) -> Expr | None:
        """Fold a value that is exact."""
        return None


class sigmoid(_Real):
    """1 / (1 + exp(-x))."""

    is_positive = True

    @classmethod
    def eval(cls, x: Expr) -> Expr | None:
        """sigmoid(0) is a half."""
        return sympy.Rational(1, 2) if x == 0 else None

    #: The derivative; 1 - sigmoid(x) would cancel for large x.
    slopes = (lambda x: sigmoid(x) * sigmoid(-x),)


class softplus(_Real):
    """log(1 + exp(x))."""

    is_positive = True
    slopes = (lambda x: sigmoid(x),)


class tanh(_Real):
    """The hyperbolic tangent."""

    #: 1 - tanh(x)**2, which would cancel for large x.
    slopes = (lambda x: 4 * sigmoid(2 * x) * sigmoid(-2 * x),)


class logcosh(_Real):
    """log(cosh(x)), which overflows for large x when computed as written."""

    slopes = (lambda x: tanh(x),)


class log1p(_Real):
    """log(1 + x)."""

    slopes = (lambda x: 1 / (1 + x),)


class expm1(_Real):
    """exp(x) - 1."""

    slopes = (sympy.exp,)


class absolute(_Real):
    """|x|."""

    is_nonnegative = True

    @classmethod
    def eval(cls, x: Expr) -> Expr | None:
        """|x| of what is known to be positive is x."""
        if x.is_nonnegative:
            return x
        return cls(-x) if x.could_extract_minus_sign() else None

    #: The sign; 0 at the kink.
    slopes = (lambda x: sign(x),)


class _Flat(_Real):
    #: 0 wherever the derivative exists.
    slopes = (lambda x: sympy.Integer(0),)


class sign(_Flat):
    """-1, 0 or 1."""


class floor(_Flat):
    """The largest integer that is not above x."""


class ceil(_Flat):
    """The smallest integer that is not below x."""


class rint(_Flat):
    """The nearest integer."""


class step(_Flat):
    """1 for positive x, 0 for negative x, and a half at 0.

    A half is the mean of the slopes on both sides, so that kinks which cancel each other in a sum do so in the
    gradient too.
    """

    is_nonnegative = True


class maximum(_Real):
    """The larger of two values."""

    #: 1 for the larger one.
    slopes = (lambda a, b: step(a - b), lambda a, b: step(b - a))


class minimum(_Real):
    """The smaller of two values."""

    #: 1 for the smaller one.
    slopes = (lambda a, b: step(b - a), lambda a, b: step(a - b))


class clip(_Real):
    """A value kept between two bounds."""

    #: 1 between the bounds; a bound's own derivative is 1 where it holds.
    slopes = (
        lambda x, low, high: step(x - low) * step(high - x),
        lambda x, low, high: step(low - x),
        lambda x, low, high: step(x - high),
    )


class root(_Real):
    """The square root of a sum of squares, whose slope at 0 is taken as 0."""

    is_nonnegative = True
    slopes = (lambda x: inverse_root(x) / 2,)


class inverse_root(_Real):
    """1 / sqrt(x), and 0 at 0."""

    is_nonnegative = True
    slopes = (lambda x: -(inverse_root(x) ** 3) / 2,)


class hypot(_Real):
    """sqrt(a*a + b*b) without overflow."""

    is_nonnegative = True

    #: The side over the hypotenuse.
    slopes = (lambda a, b: a / hypot(a, b), lambda a, b: b / hypot(a, b))


class logaddexp(_Real):
    """log(exp(a) + exp(b)) without overflow."""

    #: The share of the side.
    slopes = (lambda a, b: sigmoid(a - b), lambda a, b: sigmoid(b - a))


class arctan2(_Real):
    """The angle of the point (x, y), given y first."""

    slopes = (lambda y, x: x / hypot(x, y) ** 2, lambda y, x: -y / hypot(x, y) ** 2)


class arctanh(_Real):
    """The inverse of tanh."""

    #: Factored, so that it does not cancel near 1; so are the next ones.
    slopes = (lambda x: 1 / ((1 - x) * (1 + x)),)


class arcsin(_Real):
    """The inverse of sin."""

    slopes = (lambda x: 1 / sympy.sqrt((1 - x) * (1 + x)),)


class arccos(_Real):
    """The inverse of cos."""

    slopes = (lambda x: -1 / sympy.sqrt((1 - x) * (1 + x)),)


class arccosh(_Real):
    """The inverse of cosh, for arguments above 1."""

    slopes = (lambda x: 1 / sympy.sqrt((x - 1) * (x + 1)),)


class arcsinh(_Real):
    """The inverse of sinh."""

    #: 1 / sqrt(1 + x*x), without overflow.
    slopes = (lambda x: 1 / hypot(x, 1),)


class arctan(_Real):
    """The inverse of tan."""

    slopes = (lambda x: 1 / (1 + x**2),)


class cbrt(_Real):
    """The cube root."""

    slopes = (lambda x: 1 / (3 * cbrt(x) ** 2),)


class erf(_Real):
    """The error function."""

    slopes = (lambda x: 2 * sympy.exp(-(x**2)) / sympy.sqrt(sympy.pi),)


class erfc(_Real):
    """1 - erf(x) without cancellation."""

    slopes = (lambda x: -2 * sympy.exp(-(x**2)) / sympy.sqrt(sympy.pi),)


class digamma(_Real):
    """The derivative of lgamma."""


class lgamma(_Real):
    """The logarithm of the gamma function, for positive arguments."""

    slopes = (lambda x: digamma(x),)


class sinc(_Real):
    """sin(x) / x, and 1 at 0."""

    slopes = (lambda x: dsinc(x),)


class sech(_Real):
    """1 / cosh(x)."""

    is_positive = True
    slopes = (lambda x: -sech(x) * tanh(x),)


class exprel(_Real):
    """(exp(x) - 1) / x, and 1 at 0."""

    is_positive = True
    slopes = (lambda x: dexprel(x),)


class bose(_Real):
    """x / (exp(x) - 1), and 1 at 0."""

    is_positive = True
    slopes = (lambda x: dbose(x),)


class inverse_expm1(_Real):
    """1 / (exp(x) - 1)."""

    slopes = (lambda x: inverse_expm1(x) * inverse_expm1(-x),)


class log1mexp(_Real):
    """log(1 - exp(x)), for negative arguments."""

    slopes = (lambda x: -inverse_expm1(-x),)


class log1prel(_Real):
    """log(1 + x) / x, and 1 at 0."""

    is_positive = True
    slopes = (lambda x: dlog1prel(x),)


class dsinc(_Real):
    """The derivative of sinc."""


class dexprel(_Real):
    """The derivative of exprel."""


class dbose(_Real):
    """The derivative of bose."""


class dlog1prel(_Real):
    """The derivative of log1prel."""


@record
class Pointwise:
    """A function of elements.

    Args:
        symbolic: the sympy function.
        arity: how many arguments it takes.
        array: how numpy spells it; a helper function of the kernel file where it has no dot.
        scalar: how it is spelled for Python numbers, "" where only ``array`` has it.
        exact: the function in high precision.
    """

    symbolic: Callable[..., Expr]
    arity: int
    array: str
    scalar: str
    exact: Callable[..., Any]


def _exact_sigmoid(x: Any) -> Any:
    return 1 / (1 + mpmath.exp(-x))


def _at_0(value: float, function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: mpmath.mpf(value) if x == 0 else function(x)


_P = Pointwise
#: name in a formula -> the function; what starts with an underscore comes from patterns only
FUNCTIONS: dict[str, Pointwise] = {
    **{
        name: _P(getattr(sympy, name), 1, f"np.{name}", f"math.{name}", getattr(mpmath, name))
        for name in ("exp", "log", "sqrt", "sin", "cos", "tan", "sinh", "cosh")
    },
    "expm1": _P(expm1, 1, "np.expm1", "math.expm1", mpmath.expm1),
    "log1p": _P(log1p, 1, "np.log1p", "math.log1p", mpmath.log1p),
    "cbrt": _P(cbrt, 1, "np.cbrt", "", lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x))),
    "tanh": _P(tanh, 1, "np.tanh", "math.tanh", mpmath.tanh),
    "arcsin": _P(arcsin, 1, "np.arcsin", "math.asin", mpmath.asin),
    "arccos": _P(arccos, 1, "np.arccos", "math.acos", mpmath.acos),
    "arctan": _P(arctan, 1, "np.arctan", "math.atan", mpmath.atan),
    "arctan2": _P(arctan2, 2, "np.arctan2", "math.atan2", mpmath.atan2),
    "arcsinh": _P(arcsinh, 1, "np.arcsinh", "math.asinh", mpmath.asinh),
    "arccosh": _P(arccosh, 1, "np.arccosh", "math.acosh", mpmath.acosh),
    "arctanh": _P(arctanh, 1, "np.arctanh", "math.atanh", mpmath.atanh),
    "abs": _P(absolute, 1, "np.abs", "abs", abs),
    "sign": _P(sign, 1, "np.sign", "", mpmath.sign),
    "floor": _P(floor, 1, "np.floor", "math.floor", mpmath.floor),
    "ceil": _P(ceil, 1, "np.ceil", "math.ceil", mpmath.ceil),
    "round": _P(rint, 1, "np.rint", "round", mpmath.nint),
    "maximum": _P(maximum, 2, "np.maximum", "max", max),
    "minimum": _P(minimum, 2, "np.minimum", "min", min),
    "clip": _P(clip, 3, "np.clip", "", lambda x, low, high: min(max(x, low), high)),
    "hypot": _P(hypot, 2, "np.hypot", "math.hypot", mpmath.hypot),
    "logaddexp": _P(logaddexp, 2, "np.logaddexp", "", lambda a, b: mpmath.log(mpmath.exp(a) + mpmath.exp(b))),
    "sigmoid": _P(sigmoid, 1, "sigmoid", "", _exact_sigmoid),
    "softplus": _P(softplus, 1, "softplus", "", lambda x: mpmath.log1p(mpmath.exp(x))),
    "logcosh": _P(logcosh, 1, "logcosh", "", lambda x: mpmath.log(mpmath.cosh(x))),
    "erf": _P(erf, 1, "erf", "math.erf", mpmath.erf),
    "erfc": _P(erfc, 1, "erfc", "math.erfc", mpmath.erfc),
    "lgamma": _P(lgamma, 1, "lgamma", "math.lgamma", mpmath.loggamma),
    "digamma": _P(digamma, 1, "digamma", "", mpmath.digamma),
    "_step": _P(step, 1, "np.heaviside", "", lambda x: (mpmath.sign(x) + 1) / 2),
    "_root": _P(root, 1, "np.sqrt", "math.sqrt", mpmath.sqrt),
    "_inverse_root": _P(inverse_root, 1, "inverse_root", "", lambda x: 1 / mpmath.sqrt(x) if x > 0 else mpmath.mpf(0)),
    "_sinc": _P(sinc, 1, "sinc", "", mpmath.sinc),
    "_dsinc": _P(dsinc, 1, "sinc_slope", "", _at_0(0, lambda x: (mpmath.cos(x) - mpmath.sinc(x)) / x)),
    "_sech": _P(sech, 1, "sech", "", lambda x: 1 / mpmath.cosh(x)),
    "_exprel": _P(exprel, 1, "exprel", "", _at_0(1, lambda x: mpmath.expm1(x) / x)),
    "_bose": _P(bose, 1, "bose", "", _at_0(1, lambda x: x / mpmath.expm1(x))),
    "_inverse_expm1": _P(inverse_expm1, 1, "inverse_expm1", "", lambda x: 1 / mpmath.expm1(x)),
    "_log1mexp": _P(log1mexp, 1, "log1mexp", "", lambda x: mpmath.log(-mpmath.expm1(x))),
    "_log1prel": _P(log1prel, 1, "log1prel", "", _at_0(1, lambda x: mpmath.log1p(x) / x)),
    "_dexprel": _P(dexprel, 1, "exprel_slope", "", _at_0(0.5, lambda x: (mpmath.exp(x) * (x - 1) + 1) / x**2)),
    "_dbose": _P(dbose, 1, "bose_slope", "", _at_0(-0.5, lambda x: mpmath.diff(lambda t: t / mpmath.expm1(t), x))),
    "_dlog1prel": _P(dlog1prel, 1, "log1prel_slope", "", _at_0(-0.5, lambda x: (x / (1 + x) - mpmath.log1p(x)) / x**2)),
}
#: other names of the same functions
_ALIASES = {
    "absolute": "abs", "fabs": "abs", "asin": "arcsin", "acos": "arccos", "atan": "arctan", "atan2": "arctan2",
    "asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh", "gammaln": "lgamma", "loggamma": "lgamma",
    "expit": "sigmoid", "psi": "digamma", "fmax": "maximum", "fmin": "minimum", "rint": "round", "ln": "log",
}  # fmt: skip
FUNCTIONS.update({alias: FUNCTIONS[name] for alias, name in _ALIASES.items()})


#: functions that are a formula themselves
MACROS: dict[str, tuple[int, Callable[..., Expr]]] = {
    "square": (1, lambda x: x**2),
    "reciprocal": (1, lambda x: 1 / x),
    "rsqrt": (1, lambda x: 1 / sympy.sqrt(x)),
    "power": (2, lambda x, y: x**y),
    "pow": (2, lambda x, y: x**y),
    "exp2": (1, lambda x: 2**x),
    "log2": (1, lambda x: sympy.log(x) / sympy.log(2)),
    "log10": (1, lambda x: sympy.log(x) / sympy.log(10)),
    "relu": (1, lambda x: maximum(x, 0)),
    "relu6": (1, lambda x: clip(x, 0, 6)),
    "silu": (1, lambda x: x * sigmoid(x)),
    "swish": (1, lambda x: x * sigmoid(x)),
    "gelu": (1, lambda x: x * erfc(-x / sympy.sqrt(2)) / 2),
    "mish": (1, lambda x: x * tanh(softplus(x))),
    "softsign": (1, lambda x: x / (1 + absolute(x))),
    "hardtanh": (1, lambda x: clip(x, -1, 1)),
    "logsigmoid": (1, lambda x: -softplus(-x)),
    "logit": (1, lambda x: sympy.log(x) - log1p(-x)),
    "sech": (1, lambda x: 1 / sympy.cosh(x)),
    "sinc": (1, lambda x: sinc(sympy.pi * x)),
    "xlogy": (2, lambda x, y: x * sympy.log(y)),
}
