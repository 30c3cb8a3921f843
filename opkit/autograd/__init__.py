"""Reverse-mode differentiation that both modes share."""

from opkit.autograd.walk import Step, leading_to, ready_order, reverse_walk

__all__ = ["Step", "leading_to", "ready_order", "reverse_walk"]
