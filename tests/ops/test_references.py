"""Reference counts are measured where the interpreter runs, never written down."""

from __future__ import annotations

import ast
from pathlib import Path
from sys import getrefcount
from typing import Any

import numpy as np
import pytest

import opkit
import opkit.paddle as paddle
from opkit.eager import wrap
from opkit.ops.core import references
from opkit.ops.core.references import OF_ARGUMENT, OF_ATTRIBUTE, OF_ITEM, OF_LOCAL, OF_TEMPORARY

ROOT = Path(opkit.__file__).parent


def asks(node: ast.AST) -> bool:
    """Say whether an expression is a call of ``getrefcount``."""
    return isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) == "getrefcount"


def test_no_count_is_written_down() -> None:
    """No module compares a reference count with a number."""
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in ROOT.rglob("*.py")
        if "templates" not in path.parts and "getrefcount" in (text := path.read_text())
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Compare)
        and any(map(asks, [node.left, *node.comparators]))
        and any(isinstance(item, ast.Constant) for item in [node.left, *node.comparators])
    ]
    assert found == []


@pytest.mark.parametrize("is_shared", [False, True])
def test_a_lone_array_is_told_from_a_shared_one(is_shared: bool) -> None:
    """An array that somebody else holds counts more than the measured number, however it is asked for."""
    others: list[Any] = []

    def make() -> Any:
        array = np.empty(3)
        if is_shared:
            others.append(array)
        return array

    def argument(item: Any) -> int:
        return getrefcount(item)

    def item_of(items: Any) -> int:
        item = items[0]
        return getrefcount(item)

    def base_of(view: Any) -> int:
        return getrefcount(view.base)

    local = make()
    assert (getrefcount(local) > OF_LOCAL) is is_shared
    assert (item_of([make()]) > OF_ITEM) is is_shared
    held = make()
    assert (argument(held) > OF_ARGUMENT) is is_shared
    base = make()
    view = base[:]
    del base
    assert (base_of(view) > OF_ATTRIBUTE) is is_shared
    count = argument(make())  # not within the assertion, which pytest takes apart into variables
    assert not OF_TEMPORARY or (count > OF_TEMPORARY) is is_shared


def test_a_measurement_that_tells_nothing_counts_as_shared() -> None:
    """Where a second holder does not raise the count, the number is one that no count has."""
    assert references._told_apart(lambda shared: 7) == 0
    assert references._told_apart(lambda shared: 2 if shared is None else 3) == 2


def test_a_gradient_that_nobody_sees_is_not_copied() -> None:
    """A leaf takes over the array that a rule made; one that somebody else holds it copies."""
    made: list[int] = []
    kept: list[Any] = []

    class Two(paddle.autograd.PyLayer):
        @staticmethod
        def forward(ctx: Any, x: Any, keeps: bool) -> Any:
            ctx.keeps = keeps
            return x * 2

        @staticmethod
        def backward(ctx: Any, dy: Any) -> Any:
            array = dy.numpy() * 2
            dx = wrap(array)
            del array
            made.append(dx._data.__array_interface__["data"][0])
            if ctx.keeps:
                kept.append(dx)
            return dx

    for keeps in (False, True):
        x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
        Two.apply(x, keeps).sum().backward()
        is_same = x.grad._data.__array_interface__["data"][0] == made[-1]
        assert is_same is not keeps
