"""PADDLE: the rules and words that Paddle's Tensors and Programs follow."""

from __future__ import annotations

from opkit.ir import Dialect, Words
from opkit.paddle.semantics import printing, promotion
from opkit.paddle.semantics.dtypes import shown

#: Paddle 2.6.
PADDLE = Dialect(
    "paddle",
    meet=promotion.promoted,
    meet_number=promotion.promoted_number,
    add_number=promotion.added_number,
    quotient=promotion.FLOAT32,
    function_of_integers=promotion.FLOAT32,
    total=promotion.total,
    show_dtype=shown,
    show_tensor=printing.tensor_text,
    show_variable=printing.variable_text,
    words=Words(
        make_tensor="paddle.to_tensor makes a Tensor",
        change_leaf="change it under paddle.no_grad(), or work on x.clone()",
        keep_gradient="use a paddle function, or x.detach() where no gradient is wanted",
        python_in_graph="use paddle.static.nn.py_func with functions on arrays, or paddle.disable_static()",
    ),
)
