"""Plans: a program compiled for one set of feeds and fetches to straight-line Python."""

from opkit.static.plan.plan import Plan, compile_plan

__all__ = ["Plan", "compile_plan"]
