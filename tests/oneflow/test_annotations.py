"""A job's annotations say what it takes and gives; calls that do not fit are refused before anything runs."""

# ruff: noqa: UP006
from __future__ import annotations

from typing import Any, Dict, List, Tuple  # noqa: UP035 - scripts of OneFlow's time write these

import numpy as np
import pytest

from opkit.errors import DtypeError, ShapeError, UsageError
from opkit.oneflow import scalar_types as flow
from opkit.oneflow import typing as tp
from opkit.oneflow.annotations import flatten, rebuild, signature_of

X = tp.Numpy.Placeholder((2, 3), dtype=flow.float32)
ARRAY = np.zeros((2, 3), np.float32)


def job_of(returns: Any = None, **parameters: Any) -> Any:
    """Return a function with these annotations and no code."""
    source = f"def job({', '.join(parameters)}): ..."
    scope: dict[str, Any] = {}
    exec(source, scope)
    scope["job"].__annotations__ = {**parameters, **({} if returns is None else {"return": returns})}
    return scope["job"]


def test_a_call_gives_its_arrays_in_the_order_of_the_placeholders() -> None:
    """Positional, keyword and tuple arguments are flattened alike."""
    signature = signature_of(job_of(x=X, pair=Tuple[X, X]))
    a, b, c = (ARRAY + i for i in range(3))
    assert signature.bind((a,), {"pair": (b, c)}) == [a, b, c]
    assert [leaf.path for leaf in signature.leaves] == ["x", "pair[0]", "pair[1]"]


def test_a_wrong_shape_names_job_argument_and_both_shapes() -> None:
    """Nothing is reshaped in silence."""
    with pytest.raises(ShapeError, match=r"job 'job': argument 'x' has shape \(3, 2\).*\(2, 3\)"):
        signature_of(job_of(x=X)).bind((ARRAY.T,), {})


def test_a_wrong_dtype_offers_the_conversion() -> None:
    """Nothing is cast in silence."""
    with pytest.raises(DtypeError, match="astype"):
        signature_of(job_of(x=X)).bind((ARRAY.astype("float64"),), {})


@pytest.mark.parametrize("value", [[1, 2, 3], 1.0, None, "x"])
def test_what_is_no_array_is_refused(value: Any) -> None:
    """A list, a number and the like need numpy.array first."""
    with pytest.raises(UsageError, match="argument 'x'"):
        signature_of(job_of(x=X)).bind((value,), {})


def test_a_missing_argument_is_refused() -> None:
    """The message is Python's own, with the job's name and what it takes."""
    with pytest.raises(UsageError, match=r"missing a required argument: 'y' \(it takes x, y\)"):
        signature_of(job_of(x=X, y=X)).bind((ARRAY,), {})


def test_an_unknown_argument_is_named_with_the_nearest() -> None:
    """It is named before the one that is missing for its sake."""
    with pytest.raises(UsageError, match=r"job 'job' has no argument 'image' \(it takes images\)") as caught:
        signature_of(job_of(images=X)).bind((), {"image": ARRAY})
    assert caught.value.help == "did you mean 'images'?"


def test_too_many_arguments_are_counted() -> None:
    """The message says how many came and which are taken."""
    with pytest.raises(UsageError, match=r"got 2 arguments \(it takes x\)"):
        signature_of(job_of(x=X)).bind((ARRAY, ARRAY), {})


def test_a_list_placeholder_takes_smaller_sizes_of_the_same_rank() -> None:
    """ListNumpy is fed one array in a list."""
    signature = signature_of(job_of(x=tp.ListNumpy.Placeholder((2, 3))))
    small = ARRAY[:1]
    assert signature.bind(([small],), {}) == [small]
    with pytest.raises(UsageError, match="ListNumpy"):
        signature.bind((small,), {})
    with pytest.raises(ShapeError, match="declares"):
        signature.bind(([np.zeros((3, 3), np.float32)],), {})


def test_an_annotation_that_cannot_be_evaluated_names_the_parameter() -> None:
    """Text annotations are evaluated where the job is defined."""
    with pytest.raises(UsageError, match="annotation of 'x' cannot be evaluated: no_such_name"):
        signature_of(job_of(x="no_such_name"))


@pytest.mark.parametrize("annotation", [int, "np.ndarray", List[X]])
def test_a_parameter_annotation_that_is_no_placeholder_is_refused(annotation: Any) -> None:
    """Only placeholders and tuples of them say shape and dtype."""
    job = job_of(x=annotation)
    job.__globals__["np"] = np
    with pytest.raises(UsageError, match="not a Placeholder"):
        signature_of(job)


@pytest.mark.parametrize("shape", [[2, 3], (0, 3), (2, -1), (True, 2), 5])
def test_a_placeholder_needs_a_tuple_of_positive_ints(shape: Any) -> None:
    """OneFlow's rule, said at the place of the mistake."""
    with pytest.raises(UsageError, match="Placeholder"):
        tp.Numpy.Placeholder(shape)


@pytest.mark.parametrize(
    ("annotation", "returned", "expected"),
    [
        (tp.Numpy, "a", "A"),
        (tp.ListNumpy, "a", ["A"]),
        (Tuple[tp.Numpy, tp.ListNumpy], ("a", "b"), ("A", ["B"])),
        (List[tp.Numpy], ["a", "b"], ["A", "B"]),
        (Dict[str, tp.Numpy], {"k": "a"}, {"k": "A"}),
        (tp.Bundle[tp.Numpy], ["a", ("b", {"k": "a"})], ["A", ("B", {"k": "A"})]),
        (None, None, None),
    ],
)
def test_results_take_the_form_of_the_annotation(annotation: Any, returned: Any, expected: Any) -> None:
    """Each leaf becomes an array or a list with one, containers stay."""
    blobs, structure = flatten(returned, "job", lambda item: isinstance(item, str))
    assert rebuild(structure, [blob.upper() for blob in blobs], annotation, "job") == expected


@pytest.mark.parametrize(
    ("annotation", "returned"), [(tp.Numpy, ("a", "b")), (Tuple[tp.Numpy, tp.Numpy], "a"), (tp.Numpy, None)]
)
def test_results_of_another_form_than_annotated_are_refused(annotation: Any, returned: Any) -> None:
    """The annotation is a promise."""
    blobs, structure = flatten(returned, "job", lambda item: isinstance(item, str))
    with pytest.raises(UsageError, match="annotation"):
        rebuild(structure, blobs, annotation, "job")


def test_a_job_that_returns_something_untraceable_is_refused() -> None:
    """An int is not a blob."""
    with pytest.raises(UsageError, match="not a blob of the job"):
        flatten((1, 2), "job", lambda item: isinstance(item, str))
