"""Trials of API files: their functions are called with stubs against a recording builder, in a process of their own."""

from opkit.verify.trial.child import SECONDS, ApiTrial, tried

__all__ = ["SECONDS", "ApiTrial", "tried"]
