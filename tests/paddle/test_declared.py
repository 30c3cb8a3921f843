"""Layers whose arguments are declared as fields: their signatures, and what the fields do."""

from __future__ import annotations

import copy
import inspect
from typing import Any

import numpy as np
import pytest

import opkit.paddle as paddle
from opkit.paddle import nn
from opkit.paddle.nn.layer.declared import DeclaredLayer, ParameterLayer, declared


def _defaults(kind: Any) -> dict[str, Any]:
    return {name: item.default for name, item in inspect.signature(kind).parameters.items()}


def test_a_family_shares_its_fields_and_a_member_changes_a_default() -> None:
    """The order is that of the base; the default is that of the class."""
    flat, solid = _defaults(nn.MaxPool2D), _defaults(nn.MaxPool3D)
    assert list(flat) == ["kernel_size", "stride", "padding", "return_mask", "ceil_mode", "data_format", "name"]
    assert list(solid) == list(flat)
    assert (flat["data_format"], solid["data_format"]) == ("NCHW", "NCDHW")
    assert flat["kernel_size"] is inspect.Parameter.empty


def test_every_declared_layer_has_a_signature_of_named_parameters() -> None:
    """``help()`` and editors show the arguments, not ``*args``."""
    kinds = [kind for kind in vars(nn).values() if isinstance(kind, type) and issubclass(kind, DeclaredLayer)]
    assert len(kinds) > 70
    for kind in kinds:
        parameters = inspect.signature(kind).parameters.values()
        assert all(item.kind is item.POSITIONAL_OR_KEYWORD for item in parameters), kind


def test_transposed_convolution_keeps_paddles_order() -> None:
    """Paddle 2.6 has groups before dilation in one dimension and behind it in two and three."""
    assert list(_defaults(nn.Conv1DTranspose))[6:8] == ["groups", "dilation"]
    assert list(_defaults(nn.Conv2DTranspose))[6:8] == ["dilation", "groups"]


@pytest.mark.parametrize(
    ("kind", "other"),
    [(nn.MaxPool3D, nn.MaxPool2D), (nn.Conv1DTranspose, nn.Conv2DTranspose), (nn.GRU, nn.LSTM), (nn.Pad1D, nn.Pad2D)],
)
def test_members_of_a_family_are_not_each_others_instances(kind: type, other: type) -> None:
    """A script that treats one kind of layer by ``isinstance`` does not meet the other."""
    assert not issubclass(kind, other)


def test_a_tensor_given_as_a_field_is_a_buffer_outside_the_state() -> None:
    """As any Tensor assigned to a layer."""
    loss = nn.BCELoss(weight=paddle.to_tensor([1.0, 2.0]))
    assert [name for name, _ in loss.named_buffers()] == ["weight"]
    assert list(loss.state_dict()) == []


def test_a_parameter_given_as_a_field_is_registered() -> None:
    """The layer is ready for parameters before its fields are set."""
    weight = paddle.create_parameter([2], "float32")
    assert nn.CrossEntropyLoss(weight=weight).parameters() == [weight]


def test_a_default_does_not_hide_a_sublayer_of_its_name() -> None:
    """Paddle's encoder layer has an argument and a sublayer ``dropout``."""
    layer = nn.TransformerEncoderLayer(4, 2, 8, dropout=0.25)
    assert isinstance(layer.dropout, nn.Dropout)
    assert layer.dropout.p == 0.25


def test_a_changed_field_counts_at_the_next_call() -> None:
    """Fields are plain attributes."""
    pool = nn.MaxPool2D(2)
    x = paddle.ones([1, 1, 4, 4])
    assert pool(x).shape == [1, 1, 2, 2]
    pool.kernel_size, pool.stride = 4, 4
    assert pool(x).shape == [1, 1, 1, 1]


def test_a_copy_has_the_fields_and_its_own_parameters() -> None:
    """``copy.deepcopy`` needs nothing of a layer."""
    first = nn.Conv2D(1, 2, 3)
    second = copy.deepcopy(first)
    assert second.kernel_size == 3
    assert second.weight is not first.weight
    np.testing.assert_array_equal(second.weight.numpy(), first.weight.numpy())


def test_a_missing_argument_names_the_class() -> None:
    """The error is Python's own."""
    with pytest.raises(TypeError, match=r"PixelShuffle\.__init__\(\) missing 1 required positional argument: 'upscale_factor'"):
        nn.PixelShuffle()  # type: ignore[call-arg]


def test_a_layer_that_is_not_declared_again_keeps_its_bases_signature() -> None:
    """Only ``declared`` classes add fields."""

    @declared
    class Base(DeclaredLayer):
        width: int = 3

    class Derived(Base):
        depth: int = 4

    assert list(_defaults(Derived)) == ["width"]
    assert repr(Derived(5)) == "Derived(width=5)"


def test_the_fields_stand_in_the_order_of_the_functions_arguments() -> None:
    """A layer without parameters passes its fields by position."""
    kinds = [
        kind
        for kind in vars(nn).values()
        if isinstance(kind, type) and issubclass(kind, DeclaredLayer) and not issubclass(kind, ParameterLayer)
    ]
    pairs = [(kind, kind._function) for kind in kinds if kind._settings and hasattr(kind, "_function")]
    assert len(pairs) > 30
    for kind, function in pairs:
        # Paddle's function calls ``pad`` what its layers call ``padding``.
        taken = ["padding" if name == "pad" else name for name in inspect.signature(function).parameters]
        first = taken.index(kind._settings[0])
        assert tuple(taken[first : first + len(kind._settings)]) == kind._settings, kind
