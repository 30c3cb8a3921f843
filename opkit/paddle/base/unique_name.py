"""``paddle.base.unique_name``."""

from opkit.shim import missing
from opkit.static.names import guard_names, switch_names, unique_name

generate = unique_name
switch = switch_names
guard = guard_names

__all__ = ["generate", "guard", "switch"]

__getattr__ = missing.guard(globals())
