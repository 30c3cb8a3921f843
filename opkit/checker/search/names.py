"""Names: what the name of an input suggests where no definition says anything.

A suggestion orders what is tried and settles what is ambiguous; it is never a verdict of its own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

#: Names of inputs that are broadcast over the first one: where backward fits none of that, it is a mistake.
_BROADCAST = frozenset(("b", "bias", "beta", "gamma", "scale", "shift", "alpha", "slope", "offset"))
#: Names of inputs that usually have another shape than the first one.
_PARAMETERS = frozenset(("w", "weight", "weights"))
#: Names of inputs that may be one number for each column or channel.
_FACTORS = frozenset(("a", "c", "s", "sigma", "tau", "theta", "temperature"))
#: Names of inputs that are one number for all.
_NUMBERS = frozenset(("temperature", "temp", "tau", "lam", "lambda"))
#: Names of inputs that may be one number for all; beside others that are, a bias may be one, too.
_COEFFICIENTS = _NUMBERS | _FACTORS | frozenset(("alpha", "beta", "scale", "shift", "slope", "offset", "w"))
#: Names of inputs that hold a number for each column or channel, whatever else is there.
_VECTORS = frozenset(("bias", "gamma", "weight", "weights"))
#: Names of first inputs beside which these are parameters, and not operands of one shape.
_DATA = frozenset(("x", "input", "inputs", "data", "h", "hidden", "features"))
#: Names that say nothing of what an input is for.
_OPERANDS = frozenset(("x", "y", "z", "a", "b", "p", "q", "u", "v", "left", "right", "lhs", "rhs", "input", "other"))
#: Names of two operands of one sort.
_PAIRS = frozenset(("ab", "xy", "uv", "pq", "st", "leftright", "lhsrhs", "inputother"))
#: Names of two parts of one estimate, each as large as the other.
_TWINS = frozenset((mean, "logvar") for mean in ("mu", "mean", "mus", "means", "m"))
#: Names of inputs with rows of their own, which forward looks up or cuts to size.
_TABLES = frozenset(("table", "embedding", "embeddings", "embed", "codebook", "position", "positions", "pos", "pe"))
#: Names of inputs with one entry for each row of the others.
_LABELS = frozenset(("label", "labels"))
#: Names of inputs that hold each place once.
_ORDERS = frozenset(("perm", "permutation", "order"))
#: Names of inputs that may hold truth values.
_MASKS = frozenset(("mask", "masks", "keep", "valid", "cond", "condition", "visible", "active", "where"))
#: Names of inputs that usually hold whole numbers.
_INDICES = _ORDERS | frozenset(
    ("index", "indices", "idx", "ids", "id", "label", "labels", "target", "targets", "segments")
)


def is_broadcast_name(name: str, first: str) -> bool:
    """Say whether an input beside one called ``first`` is broadcast over it, by its name."""
    return _has(name, _BROADCAST) and (name.lower() != "b" or _has(first, _DATA))


def is_parameter_name(name: str, first: str) -> bool:
    """Say whether an input beside one called ``first`` has another shape, by its name."""
    return is_broadcast_name(name, first) or (_has(name, _PARAMETERS) and _has(first, _DATA))


def may_be_parameter(name: str, first: str) -> bool:
    """Say whether an input beside one called ``first`` may be broadcast over it, by its name."""
    return _has(name, _FACTORS) and _has(first, _DATA)


def may_be_number(name: str) -> bool:
    """Say whether an input may be one number for all of the others, by its name; a capital is a matrix."""
    return name.islower() and _has(name, _COEFFICIENTS)


def says_number(name: str) -> bool:
    """Say whether an input is one number for all of the others, by its name."""
    return _has(name, _NUMBERS)


def are_coefficients(names: Iterable[str], some: Collection[str]) -> bool:
    """Say whether some inputs may be numbers together, by their names: beside a bias or a gamma none is.

    Of one input only a name like ``alpha`` says it; several that are numbers in one relation are that.
    """
    return not any(_has(name, _VECTORS) for name in names) and (len(some) > 1 or all(map(may_be_number, some)))


def is_operand_name(name: str) -> bool:
    """Say whether a name says nothing of what an input is for."""
    return _has(name, _OPERANDS)


def are_a_pair(one: str, other: str) -> bool:
    """Say whether two names are those of two things of one sort, like ``a`` and ``b`` or ``x1`` and ``x2``."""
    stems = one.rstrip("0123456789"), other.rstrip("0123456789")
    return "".join(stems).lower() in _PAIRS or (one != other and stems[0] == stems[1] != "")


def are_twins(one: str, other: str) -> bool:
    """Say whether two inputs are by their names parts of one estimate, and of one shape."""
    stems = (name.lower().rstrip("0123456789").replace("_", "") for name in (one, other))
    mean, spread = (stem.replace("lv", "logvar") for stem in stems)
    return (mean, spread) in _TWINS


def is_table_name(name: str) -> bool:
    """Say whether an input has rows of its own, by its name."""
    return _has(name, _TABLES)


def is_looked_up(name: str, others: Iterable[str]) -> bool:
    """Say whether an input is a matrix of which whole numbers among the others choose rows, by their names."""
    return (is_table_name(name) or _has(name, _PARAMETERS)) and any(map(is_index_name, others))


def is_label_name(name: str) -> bool:
    """Say whether an input has one entry for each row of the others, by its name."""
    return _has(name, _LABELS)


def is_index_name(name: str) -> bool:
    """Say whether an input holds whole numbers, by its name."""
    return _has(name, _INDICES)


def is_mask_name(name: str) -> bool:
    """Say whether an input may hold truth values, by its name."""
    return _has(name, _MASKS)


def is_order_name(name: str) -> bool:
    """Say whether an input of whole numbers holds each place of an axis once, by its name."""
    return _has(name, _ORDERS)


def _has(name: str, words: frozenset[str]) -> bool:
    return any(word.rstrip("0123456789") in words for word in name.lower().split("_"))
