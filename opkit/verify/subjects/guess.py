"""Guess: which of a PyLayer's parameters take arrays and which take options, where no case says so.

Names, annotations and defaults only; a trial shows whether a guess fits.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from opkit.checker.model.written import text_of, tree_in
from opkit.verify.subjects.parameters import Parameters

#: Words in the names of parameters that are options even where they have no default, and a usual value.
_USUAL: dict[str, Any] = {
    **dict.fromkeys(("iter", "iters", "niter", "iterations"), 50),
    **dict.fromkeys(("axis", "dim", "axes"), -1),
    **dict.fromkeys(("n", "k", "num", "size", "count", "times", "steps", "groups", "stride", "power", "kernel"), 2),
    **dict.fromkeys(("step", "epoch", "level", "depth", "order", "degree", "radius", "dilation", "heads", "pool"), 2),
    **dict.fromkeys(("pad", "padding"), 1),
    **dict.fromkeys(("margin", "threshold", "thresh", "momentum", "decay"), 0.5),
    **dict.fromkeys(("alpha", "factor", "rate", "lambd", "lambda", "lam", "temperature", "coef", "coeff", "p"), 0.5),
    **dict.fromkeys(("eps", "epsilon"), 1e-5),
    **dict.fromkeys(("training", "inplace", "flag", "keepdim", "causal"), True),
    **dict.fromkeys(("reduction",), "mean"),
}
_OF_TYPE: dict[str, Any] = {"int": 2, "float": 0.5, "bool": True, "str": "mean"}
#: Words of inputs that may be left out: None as a default stands for no array.
_ARRAYS = frozenset(
    ("b", "w", "bias", "weight", "weights", "mask", "gamma", "beta", "y", "z", "residual", "target", "label", "index")
)
#: Those of them that are no numbers.
_ALWAYS_ARRAYS = _ARRAYS - {"weight", "weights", "mask", "target", "label", "index"}
#: Words of inputs that are lists of arrays.
_LISTS = frozenset(("parts", "tensors", "arrays", "xs", "items", "pieces", "chunks", "branches", "features", "list"))
#: Words of inputs that usually take no gradient.
_CONSTANTS = frozenset(
    [
        "cond",
        "condition",
        "mask",
        "target",
        "targets",
        "label",
        "labels",
        "index",
        "indices",
        "ids",
        "t",
        "gt",
        "truth",
        "noise",
        "keep",
        "lengths",
        "length",
        "counts",
        "random",
        "mean",
        "var",
        "std",
        "running",
        "variance",
        "pos",
        "sample",
        "class",
        "knots",
        "grid",
        "points",
        "xp",
        "bins",
        "edges",
        "anchors",
        "freq",
        "freqs",
        "cos",
        "sin",
        "angle",
        "angles",
        "steps",
        "probs",
        "onehot",
        "hot",
        "true",
        "tgt",
        "adv",
        "advantage",
        "advantages",
        "reward",
        "rewards",
        "returns",
        "old",
        "teacher",
        "window",
        "timesteps",
    ]
)
#: Words of inputs that take one.
_VARIABLES = frozenset(
    [
        "x",
        "y",
        "z",
        "a",
        "b",
        "q",
        "k",
        "h",
        "w",
        "input",
        "other",
        "query",
        "key",
        "value",
        "bias",
        "weight",
        "weights",
        "gamma",
        "beta",
        "scale",
        "shift",
        "pred",
        "logits",
    ]
)
#: Words of a loss's labels, and of how much each of them counts.
_LABELS = frozenset(("target", "targets", "label", "labels", "truth", "gt"))
_SHARES = frozenset(("weight", "weights"))
#: Words of what a loss compares its first input with.
_COMPARED = frozenset(("y", "q", "g", "true", "ref", "reference"))
#: Values for a parameter of which nothing is known, one after the other.
_ANY: tuple[Any, ...] = (0.5, 2, -1)


@dataclass(frozen=True, slots=True)
class Guess:
    """One way to read a signature.

    Args:
        inputs: parameters that take arrays, in order; those of ``optional`` may be left out.
        optional: inputs with None as their default.
        options: {other parameter: value}, the defaults where there are some.
        is_likely: whether names and defaults suggest it; the others are for a forward that takes nothing else.
        lists: those of the inputs that take a list of arrays.
        numbers: options that are numbers where they are not left out, though their names speak of arrays.
    """

    inputs: tuple[str, ...]
    optional: frozenset[str]
    options: dict[str, Any]
    is_likely: bool = False
    lists: frozenset[str] = frozenset()
    numbers: frozenset[str] = frozenset()


def annotations_of(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the annotations of a function's parameters; none where it has no signature."""
    try:
        return {item.name: item.annotation for item in inspect.signature(function).parameters.values()}
    except (TypeError, ValueError):
        return {}


def walked_in(function: Callable[..., Any]) -> frozenset[str]:
    """Return the names that a function goes through item by item; none where its source is not known."""
    tree = tree_in(text_of(function))
    walked = [node.iter for node in ast.walk(tree) if isinstance(node, (ast.For, ast.comprehension))]
    for call in [node for node in walked if isinstance(node, ast.Call)]:  # enumerate(xs), zip(xs, ys)
        walked += call.args
    return frozenset(node.id for node in walked if isinstance(node, ast.Name))


def is_left_out(name: str) -> bool:
    """Say whether a parameter that is None is by its name an input that may be left out."""
    return _is_word_in(name, _ARRAYS)


def is_constant(name: str) -> bool:
    """Say whether an input is by its name one that takes no gradient."""
    return _is_word_in(name, _CONSTANTS)


def is_compared(name: str) -> bool:
    """Say whether an input of a loss is by its name what another one is compared with."""
    return _is_word_in(name, _COMPARED)


def is_share(name: str, others: Iterable[str]) -> bool:
    """Say whether an input of a loss is by its name how much each element of its labels counts."""
    return _is_word_in(name, _SHARES) and any(_is_word_in(other, _LABELS) for other in others)


def takes_gradient(name: str) -> bool:
    """Say whether an input is by its name one that takes a gradient."""
    return _is_word_in(name, _VARIABLES) and not is_constant(name)


def guesses(
    parameters: Parameters, annotations: dict[str, Any], walked: frozenset[str] = frozenset()
) -> Iterator[Guess]:
    """Yield readings of a signature, the most likely first.

    Args:
        parameters: of forward.
        annotations: those of forward, by parameter.
        walked: parameters that forward goes through item by item: an array, or a list of them.
    """
    options = dict(parameters.defaults)
    optional = {
        name
        for name, default in options.items()
        if default is None and (is_left_out(name) or _is_array(annotations.get(name)))
    }
    required = [name for name in parameters.names if name not in options]
    fixed = {name: usual_value(name, annotations.get(name)) for name in required}
    known = {name: value for name, value in fixed.items() if value is not None}
    if len(known) == len(required) and required:  # something must be an array
        known.pop(required[0])
    open_ = [name for name in required if name not in known]
    options = {name: value for name, value in options.items() if name not in optional}
    likely = _guess(parameters, open_, optional, {**options, **known}, is_likely=True)
    lists = walked & set(open_)
    if any(_is_word_in(name, _LISTS) for name in lists):
        yield replace(likely, lists=lists)
    yield likely
    if lists and not any(_is_word_in(name, _LISTS) for name in lists):
        yield replace(likely, lists=lists)
    if optional:
        without = _guess(parameters, open_, set(), {**options, **known, **dict.fromkeys(optional)})
        is_number = not any(_is_word_in(name, _ALWAYS_ARRAYS) for name in optional)
        yield replace(without, numbers=frozenset(optional)) if is_number else without
    if known:
        yield _guess(parameters, required, set(), {**options, **dict.fromkeys(optional)}, is_likely=True)
    for name in reversed(open_[1:]):
        for value in _ANY:
            rest = [other for other in open_ if other != name]
            yield _guess(parameters, rest, set(), {**options, **known, name: value, **dict.fromkeys(optional)})


def _guess(
    parameters: Parameters, arrays: list[str], optional: set[str], options: dict[str, Any], is_likely: bool = False
) -> Guess:
    inputs = tuple(name for name in parameters.names if name in arrays or name in optional)
    return Guess(inputs, frozenset(optional), options, is_likely)


def _is_array(annotation: Any) -> bool:
    """Say whether an annotation, or its text, speaks of an array of some framework."""
    text = annotation if isinstance(annotation, str) else f"{annotation!r} {getattr(annotation, '__name__', '')}"
    return any(word in text for word in ("Tensor", "Array", "ndarray"))


def usual_value(name: str, annotation: Any) -> Any:
    """Return a usual value of an option by its name and annotation, None where they tell of none."""
    if _is_array(annotation):
        return None
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")
    if annotation is not inspect.Parameter.empty and text in _OF_TYPE:
        return next((value for word, value in _USUAL.items() if _is_word_in(name, {word})), _OF_TYPE[text])
    return next((value for word, value in _USUAL.items() if _is_word_in(name, {word})), None)


def _is_word_in(name: str, words: Any) -> bool:
    return any(word in words for word in name.lower().split("_"))
