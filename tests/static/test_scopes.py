"""Named parts of a graph: scopes of both frameworks, layers, and their gradients."""

import numpy as np

import opkit.oneflow as flow
import opkit.oneflow.typing as tp
import opkit.paddle as paddle
from opkit.paddle import nn
from opkit.static.builder import building


def test_ops_know_the_scopes_and_layers_that_they_are_in() -> None:
    """Scopes nest, layers are scopes of their own, and gradients belong where their forward op is."""
    main = paddle.static.Program()
    with paddle.static.program_guard(main):
        x = paddle.static.data("x", [2, 3])
        net = nn.Sequential(nn.Linear(3, 2))
        with paddle.static.name_scope("tower"):
            y = paddle.static.nn.fc(net(x), 1, name="head")
        loss = paddle.mean(y)
        paddle.static.append_backward(loss)
    forward, backward = ({op.scope for op in main.blocks[0].ops if op.role == role} for role in ("forward", "backward"))
    names = {f"tower/{net.full_name()}/{net[0].full_name()}", "tower/head"}
    assert names | {""} == forward
    assert names <= backward
    assert {op.scope for op in main.clone().blocks[0].ops} == forward | backward
    assert building.scope == ""


def test_a_name_space_is_a_scope_of_its_job() -> None:
    """``flow.scope.namespace`` names variables and the ops of its block, and nothing after it."""
    seen: list[str] = []

    @flow.global_function()
    def scaled(x: tp.Numpy.Placeholder((2,))) -> tp.Numpy:
        with flow.scope.namespace("outer"), flow.scope.namespace("inner"):
            seen.append(building.scope)
            y = flow.math.tanh(x)
        seen.append(building.scope)
        return y

    scaled(np.zeros(2, np.float32))
    assert seen == ["outer/inner", ""]
