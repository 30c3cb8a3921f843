"""Functions that a fresh interpreter can import; test_spawn and test_pair check them."""

from __future__ import annotations

import os

import numpy as np

__all__ = ["dying", "leaving", "square", "square_grad", "square_grad_wrong"]


def square(x: np.ndarray) -> np.ndarray:
    """X * x."""
    return x * x


def square_grad(x: np.ndarray, dy: np.ndarray) -> np.ndarray:
    """The gradient of ``square``."""
    return 2 * x * dy


def square_grad_wrong(x: np.ndarray, dy: np.ndarray) -> np.ndarray:
    """A wrong gradient of ``square``."""
    return 3 * x * dy


def dying(x: np.ndarray, dy: np.ndarray) -> np.ndarray:
    """A gradient that ends its process."""
    os.abort()


def leaving(x: np.ndarray, dy: np.ndarray) -> np.ndarray:
    """A gradient that leaves its process."""
    os._exit(3)
