"""Recipe: how another interpreter makes the same ops again, by importing a function and calling it on plain data.

Which ops need one, and where they are made, is decided elsewhere.
"""

from __future__ import annotations

import io
import pickle
import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from opkit.record import record
from opkit.verify.isolation.flight import Flight
from opkit.verify.options import RunOptions

if TYPE_CHECKING:
    from opkit.verify.subjects.loaded import Loaded


class UnsendableError(Exception):
    """Something cannot be sent to another interpreter and rebuilt there by importing."""


@record
class Recipe:
    """A function of a module, and what it is called with; itself plain data.

    Args:
        module: as it is imported.
        function: of that module: ``function(*arguments, options, flight)`` -> Loaded.
        packed: the pickled arguments.
    """

    module: str
    function: str
    packed: bytes

    @staticmethod
    def of(function: Callable[..., Loaded], *arguments: Any) -> Recipe:
        """Return the recipe of a call.

        Args:
            function: of the top level of a module that can be imported by its name.
            arguments: data, and functions, classes and objects of such modules.

        Raises:
            UnsendableError: something of it is in no module that can be imported (a script's own, a lambda), or cannot
                be pickled.
        """
        body = io.BytesIO()
        try:
            _Packer(body, pickle.HIGHEST_PROTOCOL).dump((function, arguments))
        except UnsendableError:
            raise
        except Exception as error:  # user code of any kind runs here, that of a __reduce__
            raise UnsendableError(f"{type(error).__name__}: {error}") from error
        return Recipe(function.__module__, function.__qualname__, body.getvalue())

    def make(self, options: RunOptions, flight: Flight) -> Loaded:
        """Call the function; what it raises is raised."""
        import_module(self.module)
        function, arguments = pickle.loads(self.packed)
        made: Loaded = function(*arguments, options, flight)
        return made


class _Packer(pickle.Pickler):
    """Pickles what another interpreter rebuilds by importing, and refuses the rest."""

    def reducer_override(self, item: Any) -> Any:
        """Refuse functions and classes of modules that another interpreter does not find."""
        module = getattr(item, "__module__", None)
        named = callable(item) and isinstance(module, str) and hasattr(item, "__qualname__")
        if named and module != "builtins" and not _is_importable(module):
            raise UnsendableError(f"{item.__qualname__} is in {module}, which another interpreter cannot import")
        return NotImplemented


@cache
def _is_importable(module: str) -> bool:
    """Return whether importing a name gives the module of that name in another interpreter of the same path too."""
    loaded = sys.modules.get(module)
    if module == "__main__" or loaded is None:
        return False
    own = getattr(loaded, "__spec__", None)
    if own is None:
        return False
    parent, _, _ = module.rpartition(".")
    if parent and not _is_importable(parent):
        return False
    path = getattr(sys.modules[parent], "__path__", None) if parent else None
    for finder in sys.meta_path:
        # opkit's own finders serve the names of frameworks, which another interpreter has only once it installs them.
        if not finder.__module__.startswith("opkit.") and hasattr(finder, "find_spec"):
            found = finder.find_spec(module, path)
            if found is not None:
                return bool(found.origin == own.origin)
    return False
