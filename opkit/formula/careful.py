"""Rewriting an expression into one of the same value that neither overflows nor cancels.

Each rule names the trap that it avoids, and acts on one element; those over an axis are ``careful_steps``'s.
"""

from __future__ import annotations

from functools import reduce

import sympy

from opkit.formula import language as f
from opkit.formula.language import Expr


def careful(expr: Expr) -> Expr:
    """Apply the rules until none applies."""
    for _ in range(8):
        previous = expr
        expr = expr.replace(sympy.Abs, f.absolute).replace(sympy.sign, f.sign).replace(sympy.tanh, f.tanh)
        expr = expr.replace(lambda node: node.is_Mul, _product)
        expr = expr.replace(lambda node: node.is_Pow, _power)
        expr = expr.replace(lambda node: node.is_Add, _sum)
        expr = expr.replace(sympy.log, _log).replace(f.log1p, _log1p).replace(f.logaddexp, _logaddexp)
        expr = expr.replace(lambda node: isinstance(node, sympy.Piecewise), _branches)
        if expr == previous:
            break
    return expr


# -- sums -------------------------------------------------------------------------------------------------------------
def _sum(node: Expr) -> Expr:
    """1 + erf(u), 1 - sigmoid(u), exp(u) - 1 and the like."""
    for term in node.args:  # max(u, 0) + log(1 + exp(-|u|)) is softplus(u), written by hand
        factor, function = term.as_coeff_Mul()
        if isinstance(function, f.softplus) and isinstance(-function.args[0], f.absolute):
            (u,) = (-function.args[0]).args
            for side in (u, -u):
                larger = [other for other in (f.maximum(side, 0), f.maximum(0, side)) if factor * other in node.args]
                if larger:
                    return node - term - factor * larger[0] + factor * f.softplus(side)
        if isinstance(function, f.hypot) and 1 in function.args:  # hypot(u, 1) - u, with either sign
            u = sympy.Mul(*function.args)
            for side in (u, -u):
                if factor * side in node.args:
                    return node - term - factor * side + factor * sympy.exp(f.arcsinh(side))
        if isinstance(function, f.softplus) and -factor * function.args[0] in node.args:  # softplus(u) - u
            return node - term + factor * function.args[0] + factor * f.softplus(-function.args[0])
    constant, rest = node.as_coeff_Add()
    if constant == 0 or not constant.is_Rational:
        return _difference(node)
    terms = sympy.Add.make_args(rest)
    for term in terms:
        factor, function = term.as_coeff_Mul()
        others = rest - term
        if abs(factor) != abs(constant) or not constant.is_Rational:
            continue
        same = factor == constant
        found = _with_one(function, same)
        if found is not None:
            return constant * found + others
        if isinstance(function, sympy.exp) and not same:
            return factor * f.expm1(function.args[0]) + others
        if isinstance(function, f.expm1) and same:
            return factor * sympy.exp(function.args[0]) + others
    return _difference(node)


def _difference(node: Expr) -> Expr:
    """a*a - b*b is (a - b) * (a + b); sqrt(p) - sqrt(q) is a number p - q over the sum; s - s*s of a sigmoid."""
    if len(node.args) != 2:
        return node
    up, down = sorted(node.args, key=lambda term: term.could_extract_minus_sign())
    if up.could_extract_minus_sign() or not down.could_extract_minus_sign():
        return node
    (a, p), (b, q) = up.as_coeff_Mul(), (-down).as_coeff_Mul()
    if isinstance(p, f.sigmoid) and isinstance(q, f.sigmoid) and a == b and p.args[0] + q.args[0] == 0:
        return a * f.tanh(p.args[0] / 2)
    if isinstance(p, f.sigmoid) and q == p**2 and a == b:
        return a * p * f.sigmoid(-p.args[0])
    if p.is_Pow and q.is_Pow and a == b and p.exp == q.exp == sympy.Rational(1, 2):
        gap = sympy.expand(p.base - q.base)
        return a * gap / (p + q) if gap.is_Rational else node
    first, second = (_side(up), _side(-down)) if a != b else (_side(p), _side(q))
    if first is None or second is None:
        return node
    return (a if a == b else 1) * (first - second) * (first + second)


def _with_one(function: Expr, same: bool) -> Expr | None:
    """1 + function where ``same``, else 1 - function; None where no rule has it."""
    if isinstance(function, f.inverse_expm1) and same:
        return -f.inverse_expm1(-function.args[0])
    if isinstance(function, f.erf):
        return f.erfc(-function.args[0] if same else function.args[0])
    if isinstance(function, f.erfc) and not same:
        return f.erf(function.args[0])
    if isinstance(function, f.tanh):
        return 2 * f.sigmoid((2 if same else -2) * function.args[0])
    if isinstance(function, f.sigmoid) and not same:
        return f.sigmoid(-function.args[0])
    if isinstance(function, f.hypot) and not same and 1 in function.args:
        side = sympy.Mul(*function.args)
        return -side * f.tanh(f.arcsinh(side) / 2)  # side**2 / (1 + function), whose square overflows
    under = next((1 / factor for factor in function.args if function.is_Mul and isinstance(1 / factor, f.hypot)), None)
    if under is not None and 1 in under.args and abs(function * under) == abs(sympy.Mul(*under.args)):
        return 2 * f.sigmoid((2 if same else -2) * f.arcsinh(function * under))  # u / hypot(u, 1) is tanh(arcsinh(u))
    if isinstance(function, sympy.cos) and not same:
        return 2 * sympy.sin(function.args[0] / 2) ** 2
    if isinstance(function, sympy.cos) and same:
        return 2 * sympy.cos(function.args[0] / 2) ** 2
    if function.is_Pow and function.exp == 2 and isinstance(function.base, f.tanh) and not same:
        (x,) = function.base.args
        return 4 * f.sigmoid(2 * x) * f.sigmoid(-2 * x)
    if function.is_Pow and function.exp == sympy.Rational(1, 2) and not same:
        base = sympy.expand(function.base)  # a difference of squares has become a product
        if base.is_Add and sympy.Integer(1) in base.args:
            return (1 - base) / (1 + function)
    return None


# -- powers and products ----------------------------------------------------------------------------------------------
def _power(node: Expr) -> Expr:
    base, exponent = node.args
    if isinstance(base, f.sign) and exponent.is_Integer and exponent % 2 == 0:
        return sympy.Integer(1)
    if isinstance(base, f.root) and exponent.is_Integer and exponent % 2 == 0:
        return base.args[0] ** (exponent / 2)
    if abs(exponent) == sympy.Rational(1, 2) and base.is_Add and len(base.args) == 2:
        sides = [_side(term) for term in base.args]
        if all(side is not None for side in sides):
            return f.hypot(*sides) ** (2 * exponent)
    if exponent.is_negative and isinstance(base, f.expm1):
        return f.inverse_expm1(base.args[0]) ** -exponent
    if exponent.is_negative and isinstance(base, sympy.cosh):
        return f.sech(base.args[0]) ** -exponent
    if exponent.is_negative and base.is_Add and len(base.args) == 2:
        found = _logistic(base)
        if found is not None:
            return found**-exponent
    return node


def _side(term: Expr) -> Expr | None:
    """The side whose square the term is: of a number, of a power 2 or of a product of them."""
    if term.is_Mul:
        sides = [_side(factor) for factor in term.args]
        return None if None in sides else sympy.Mul(*sides)
    if term.is_Pow and term.exp.is_Integer and term.exp % 2 == 0:
        return term.base ** (term.exp / 2)
    if term.is_Rational and term > 0 and sympy.sqrt(term).is_Rational:
        return sympy.sqrt(term)
    return None


def _logistic(base: Expr) -> Expr | None:
    """1 / (1 + exp(u)) is sigmoid(-u); 1 / (exp(u) + exp(-u)) is a half of sech(u)."""
    constant, rest = base.as_coeff_Add()
    if constant == 1 and isinstance(rest, sympy.exp):
        return f.sigmoid(-rest.args[0])
    first, second = base.args
    if isinstance(first, sympy.exp) and isinstance(second, sympy.exp):
        if sympy.expand(first.args[0] + second.args[0]) == 0:
            return f.sech(first.args[0]) / 2
        return sympy.exp(-f.logaddexp(first.args[0], second.args[0]))
    return None


def _product(node: Expr) -> Expr:
    """exp(u) * sigmoid(-u) is sigmoid(u); (exp(u) - exp(-u)) * ... is tanh; sin(u) / u has the value 1 at 0."""
    factors = list(node.args)
    ratio = _tanh(factors)
    if ratio is not None:
        return ratio
    if any(factor.is_Pow and not factor.exp.is_number for factor in factors):
        node = sympy.powsimp(node)
        if not node.is_Mul:
            return node
        factors = list(node.args)
    for first in factors:
        if isinstance(first, sympy.exp):
            for second in factors:
                base, power = second.as_base_exp()
                is_whole = power.is_Integer and power > 0
                if isinstance(base, f.sigmoid) and is_whole and sympy.expand(base.args[0] + first.args[0]) == 0:
                    return node / (first * base) * f.sigmoid(first.args[0])
        base, power = first.as_base_exp()
        if isinstance(base, sympy.sin) and power.is_Integer and power > 0:
            u = base.args[0]
            symbols = sympy.Mul(*[factor for factor in sympy.Mul.make_args(u) if not factor.is_number])
            for factor in factors:
                under, times = factor.as_base_exp()
                if under == symbols and times.is_Integer and times < 0:
                    return node / base * f.sinc(u) * u
        if isinstance(first, f.sign):
            (u,) = first.args
            for second in factors:
                base, power = second.as_base_exp()
                if base == u and power.is_integer and power > 0:
                    return node / (first * u) * f.absolute(u)
                if base == f.absolute(u) and power.is_integer and power > 0:
                    return node / (first * base) * u
    return _ratio(_exponentials(node))


def _exponentials(node: Expr) -> Expr:
    """A product of exponentials is one of the sum: the one may overflow where the other is 0."""
    found = [factor for factor in node.args if isinstance(factor, sympy.exp)]
    curves = [factor for factor in node.args if isinstance(factor, sympy.cosh | sympy.sinh)]
    if found and curves:
        (u,), size = curves[0].args, f.absolute(curves[0].args[0])
        tail = 1 + sympy.exp(-2 * size) if isinstance(curves[0], sympy.cosh) else -f.sign(u) * f.expm1(-2 * size)
        return node / (found[0] * curves[0]) * sympy.exp(found[0].args[0] + size) * tail / 2
    if not found:
        return node
    whole = sympy.Add(*(factor.args[0] for factor in found))
    for term in sympy.Add.make_args(whole):
        if isinstance(-term, f.logaddexp) and whole - term in (-term).args:  # exp(a) / (exp(a) + exp(b))
            (other,) = {*(-term).args} - {whole - term} or {whole - term}
            return node / sympy.Mul(*found) * f.sigmoid(whole - term - other)
    return node / sympy.Mul(*found) * sympy.exp(whole) if len(found) > 1 else node


#: f(u) / u with a value at 0, and u * f(u).
_RATIOS = {f.expm1: (f.exprel, -1), f.log1p: (f.log1prel, -1), f.inverse_expm1: (f.bose, 1)}


def _ratio(node: Expr) -> Expr:
    """expm1(u) / u, u / expm1(u) and log1p(u) / u have the value 1 at 0; sinh(u) / cosh(u) is tanh(u)."""
    if not node.is_Mul:
        return node
    powers = dict(factor.as_base_exp() for factor in node.args)
    for base, power in powers.items():
        if type(base) in _RATIOS and power == 1:
            (u,), (ratio, side) = base.args, _RATIOS[type(base)]
            symbols = sympy.Mul(*(factor for factor in sympy.Mul.make_args(u) if not factor.is_number))
            under = sympy.sympify(powers.get(symbols, 0))
            if under.is_Integer and under * side > 0:
                return node / base * ratio(u) / u**side
        if isinstance(base, f.inverse_expm1) and sympy.exp(*base.args) in node.args:
            return -node / base / sympy.exp(*base.args) * f.inverse_expm1(-base.args[0])
        if isinstance(base, sympy.sinh) and powers.get(f.sech(*base.args), 0) == power:
            return node / (base * f.sech(*base.args)) ** power * f.tanh(*base.args) ** power
    return node


def guarded(expr: Expr) -> Expr:
    """Where a step is 0, nothing that overflows may reach the product: 0 * inf is NaN."""

    def guard(node: Expr) -> Expr:
        for factor in node.args:
            if isinstance(factor, f.step) and (node / factor).has(*_OVERFLOW):
                return sympy.Piecewise((0, factor.args[0] < 0), (node, True), evaluate=False)
        return node

    if isinstance(expr, sympy.Piecewise) or not expr.args:
        return expr
    return guard(expr) if expr.is_Mul else expr.func(*(guarded(argument) for argument in expr.args))


def _tanh(factors: list[Expr]) -> Expr | None:
    """(a - b) / (a + b) of two exponentials is tanh of half the difference of their exponents."""
    for first in factors:
        for second in factors:
            if first.is_Add and second.is_Pow and second.exp == -1 and second.base.is_Add:
                whole, difference = _exponents(second.base), _exponents(first)
                if whole is None or difference is None or set(whole) != set(difference):
                    continue
                up = [exponent for exponent, factor in difference.items() if factor == 1]
                down = [exponent for exponent, factor in difference.items() if factor == -1]
                if len(up) == len(down) == 1 and all(factor == 1 for factor in whole.values()):
                    rest = sympy.Mul(*(factor for factor in factors if factor not in (first, second)))
                    return rest * f.tanh(sympy.expand(up[0] - down[0]) / 2)
    return None


def _exponents(expr: Expr) -> dict[Expr, Expr] | None:
    """{u: c} of a sum of two terms c * exp(u), a number being c * exp(0)."""
    found: dict[Expr, Expr] = {}
    for term in expr.args:
        factor, function = term.as_coeff_Mul()
        if function != 1 and not isinstance(function, sympy.exp):
            return None
        found[sympy.Integer(0) if function == 1 else function.args[0]] = factor
    return found if len(found) == 2 else None


# -- logarithms -------------------------------------------------------------------------------------------------------
def _log(argument: Expr) -> Expr:
    """log(1 + u), log(sigmoid(u)), log(cosh(u)), log((1 + u) / (1 - u))."""
    if isinstance(argument, f.sigmoid):
        return -f.softplus(-argument.args[0])
    if isinstance(argument, sympy.cosh):
        return f.logcosh(argument.args[0])
    if argument.is_Add:
        constant, rest = argument.as_coeff_Add()
        if constant == 1:
            return f.softplus(rest.args[0]) if isinstance(rest, sympy.exp) else f.log1p(rest)
        for u in argument.args:  # u + sqrt(c*c + u*u)
            sides = (argument - u).args if isinstance(argument - u, f.hypot) else ()
            others = [side for side in sides if side**2 != u**2]
            if len(others) == 1 and others[0].is_Rational:
                return f.arcsinh(u / others[0]) + sympy.log(others[0])
        parts = [term.as_coeff_Mul() for term in argument.args]
        if constant == 0 and all(factor > 0 and isinstance(function, sympy.exp) for factor, function in parts):
            return reduce(f.logaddexp, (sympy.log(factor) + function.args[0] for factor, function in parts))
    if isinstance(argument, f.expm1):
        (u,) = argument.args
        return u + f.log1mexp(-u)
    if isinstance(-argument, f.expm1):
        return f.log1mexp(*(-argument).args)
    above, below = sympy.fraction(argument)
    if below != 1 and above + below == 2:
        return 2 * f.arctanh(above - 1)
    if argument.is_Mul:
        numbers = [factor for factor in argument.args if isinstance(factor, f.sigmoid)]
        if numbers:
            rest = argument / sympy.Mul(*numbers)
            return sum((_log(factor) for factor in numbers), sympy.Integer(0)) + (_log(rest) if rest != 1 else 0)
    return sympy.log(argument)


def _log1p(u: Expr) -> Expr:
    """log1p(c * exp(u)) is a softplus, log1p(-sigmoid(u)) another; log1p(-exp(u)) has its own."""
    factor, function = u.as_coeff_Mul()
    if isinstance(function, sympy.exp) and factor > 0:
        return f.softplus(function.args[0] + sympy.log(factor))
    if isinstance(function, sympy.exp) and factor == -1:
        return f.log1mexp(function.args[0])
    return -f.softplus(function.args[0]) if isinstance(function, f.sigmoid) and factor == -1 else f.log1p(u)


def _logaddexp(a: Expr, b: Expr) -> Expr:
    if 0 in (a, b):
        return f.softplus(b if a == 0 else a)
    if sympy.expand(a + b).is_number:
        return f.logcosh(sympy.expand(a - b) / 2) + sympy.expand(a + b) / 2 + sympy.log(2)
    return f.logaddexp(a, b)


# -- branches ---------------------------------------------------------------------------------------------------------
_OVERFLOW = (sympy.exp, f.expm1, sympy.log, f.log1p, sympy.sinh, sympy.cosh, f.arccosh, f.arctanh, f.lgamma)


def _branches(*pairs: Expr) -> Expr:
    """Both branches are computed for every element: where the other one is chosen, an exp must not overflow."""
    node = pairs[0] if len(pairs) == 1 and isinstance(pairs[0], sympy.Piecewise) else sympy.Piecewise(*pairs)
    if not isinstance(node, sympy.Piecewise) or len(node.args) != 2:
        return node
    (yes, condition), (no, otherwise) = node.args
    if otherwise != True or not isinstance(condition, sympy.core.relational.Relational):  # noqa: E712
        return node
    u, bound = condition.lhs, condition.rhs
    if not bound.is_number or not u.is_Symbol:
        return node
    above = isinstance(condition, sympy.Gt | sympy.Ge)
    high, low = (yes, no) if above else (no, yes)
    high, low = _kept(high, u, f.maximum(u, bound)), _kept(low, u, f.minimum(u, bound))
    return sympy.Piecewise((high if above else low, condition), (low if above else high, True))


def _kept(branch: Expr, u: Expr, within: Expr) -> Expr:
    risky = branch.has(*_OVERFLOW) or any(
        power.base.has(u) and not (power.exp.is_integer and power.exp.is_nonnegative)
        for power in branch.atoms(sympy.Pow)
    )
    if not risky or not branch.has(u) or branch.has(within.func):
        return branch

    def narrow(node: Expr) -> Expr:
        return node.func(*(argument.subs(u, within) for argument in node.args))

    def is_risky(node: Expr) -> bool:
        if isinstance(node, _OVERFLOW):
            return bool(node.has(u))
        return bool(node.is_Pow and node.base.has(u) and not (node.exp.is_integer and node.exp.is_nonnegative))

    return branch.replace(is_risky, narrow)
