"""``paddle.base.compiler``."""

from opkit.paddle.static.executor import BuildStrategy, CompiledProgram, ExecutionStrategy
from opkit.shim.missing import guard

__all__ = ["BuildStrategy", "CompiledProgram", "ExecutionStrategy"]

__getattr__ = guard(globals())
