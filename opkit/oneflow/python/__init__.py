"""The places where v0.4 keeps its own modules, for scripts that import from there: ``oneflow.python.nn``."""
