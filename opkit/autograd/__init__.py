"""The one reverse walk that dynamic and static mode share."""

from opkit.autograd.walk import Step, Visit, count_consumers, leading_to, reverse_walk

__all__ = ["Step", "Visit", "count_consumers", "leading_to", "reverse_walk"]
