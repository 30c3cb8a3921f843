"""Beam search: the sequences that a table of chosen words and of beams that they came from stands for."""

from __future__ import annotations

import numpy as np
from numpy import ndarray


def followed(words: ndarray, parents: ndarray) -> ndarray:
    """Return the words of each beam of the last step, followed back to the first.

    Args:
        words: (steps, batch, beams), integers.
        parents: (steps, batch, beams), the beam of the step before that each came from.

    Source: Paddle 2.6, paddle.nn.functional.gather_tree.
    """
    found = np.array(words)
    beam: ndarray = np.broadcast_to(np.arange(words.shape[2]), words.shape[1:])
    for step in range(len(words) - 1, -1, -1):
        found[step] = np.take_along_axis(words[step], beam, 1)
        beam = np.take_along_axis(parents[step], beam, 1)
    return found
