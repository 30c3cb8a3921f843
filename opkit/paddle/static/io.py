"""``paddle.static``'s saving and loading, by Paddle's names and argument order."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from numpy import ndarray

from opkit import static
from opkit.errors import UsageError
from opkit.ir import Program, Variable
from opkit.paddle.semantics.saving import (
    load_inference_program,
    load_program,
    read_program_state,
    save_inference_program,
    save_program,
)
from opkit.shim.missing import guard as _guard
from opkit.static.functions import Allow
from opkit.static.storage import set_program_state as put_state

__all__ = ["load", "load_inference_model", "load_program_state", "save", "save_inference_model", "set_program_state"]


def save(program: Program, model_path: Any, protocol: int = 4, **configs: Any) -> None:
    """Write ``PATH.pdparams``, ``PATH.pdopt`` and ``PATH.pdmodel``."""
    save_program(program, model_path, static.global_scope())


def load(program: Program, model_path: Any, executor: Any = None, var_list: Any = None) -> None:
    """Put saved arrays into the global scope; with ``var_list`` only those Variables'."""
    if var_list is None:
        load_program(program, model_path, static.global_scope())
        return
    names = {item if isinstance(item, str) else item.name for item in var_list}
    state = {name: array for name, array in read_program_state(model_path).items() if name in names}
    put_state(program, state, static.global_scope())


def load_program_state(model_path: Any, var_list: Any = None) -> dict[str, ndarray]:
    """Return saved arrays by name."""
    state = read_program_state(model_path)
    if var_list is None:
        return state
    names = {item if isinstance(item, str) else item.name for item in var_list}
    return {name: array for name, array in state.items() if name in names}


def set_program_state(program: Program, state_dict: Mapping[str, Any]) -> None:
    """Put arrays into the global scope by name."""
    put_state(program, state_dict, static.global_scope())


def save_inference_model(
    path_prefix: Any, feed_vars: Any, fetch_vars: Any, executor: Any = None, **kwargs: Any
) -> None:
    """Write what computes ``fetch_vars`` from ``feed_vars``: ``PREFIX.pdmodel`` and ``PREFIX.pdiparams``."""
    save_inference_program(os.fspath(path_prefix), _listed(feed_vars), _listed(fetch_vars), static.global_scope())


def load_inference_model(path_prefix: Any, executor: Any = None, *, allow: Allow = (), **kwargs: Any) -> list[Any]:
    """Return ``[program, names of feeds, Variables to fetch]``.

    A py_func of the program may name functions that this script has used in a py_func itself, numpy's ufuncs, those
    that a module of ``allow`` defines (``allow=["mypkg.ops"]``), and functions in ``allow``; others are refused, and
    nothing is imported for them.
    """
    return list(load_inference_program(os.fspath(path_prefix), static.global_scope(), allow))


class FeedVariableError(UsageError, TypeError):
    """What is given as a Variable to feed or to fetch is something else (Paddle raises ValueError)."""


def _listed(given: Any) -> Sequence[Variable]:
    items = [given] if isinstance(given, Variable) else list(given)
    for item in items:
        if not isinstance(item, Variable):
            raise FeedVariableError(f"feed_vars and fetch_vars hold Variables, got {type(item).__name__}")
    return items


__getattr__ = _guard(globals())
