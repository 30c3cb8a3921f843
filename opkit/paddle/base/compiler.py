"""``paddle.base.compiler``."""

from opkit.paddle.missing import guard
from opkit.paddle.static.executor import BuildStrategy, CompiledProgram, ExecutionStrategy

__all__ = ["BuildStrategy", "CompiledProgram", "ExecutionStrategy"]

__getattr__ = guard(__name__, globals())
