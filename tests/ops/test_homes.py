"""Built-in ops are known by name before the modules that define them are imported."""

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from opkit.errors import UsageError
from opkit.ops.core import homes
from opkit.ops.core.homes import HOMES
from opkit.ops.core.registry import Registry

#: Prints {op type: module whose body added it}, for every module of opkit.ops.
PROGRAM = """
import json, pkgutil, sys
from importlib import import_module
from opkit.ops.core.registry import Registry
added, add = {}, Registry.add
def noting(registry, op, **options):
    frame = sys._getframe(1)
    while frame.f_code.co_name != "<module>":
        frame = frame.f_back
    added[op.name] = frame.f_globals["__name__"].removeprefix("opkit.ops.")
    add(registry, op, **options)
Registry.add = noting
import opkit.ops
for item in pkgutil.walk_packages(opkit.ops.__path__, "opkit.ops."):
    import_module(item.name)
print(json.dumps(added))
"""


def written(found: dict[str, list[str]]) -> str:
    """Return the source of the list, as the formatter writes it."""
    text = Path(homes.__file__).read_text(encoding="utf-8")
    lines = []
    for module, names in found.items():
        line = f'    "{module}": "{" ".join(names)}",'
        parts = textwrap.wrap(" ".join(names), 106, break_on_hyphens=False)
        if len(line) > 120:
            strings = "\n".join(f'        "{part} "' for part in parts[:-1]) + f'\n        "{parts[-1]}"'
            line = f'    "{module}": (\n{strings}\n    ),'
        lines.append(line)
    return text[: text.index("= {\n") + 4] + "\n".join(lines) + "\n}\n"


def test_every_op_is_found_in_its_home() -> None:
    """The list names each op type of each module, no other, and no two modules add the same."""
    result = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, timeout=60)
    found: dict[str, list[str]] = {module: [] for module in HOMES}
    for name, module in json.loads(result.stdout).items():
        found.setdefault(module, []).append(name)
    if os.environ.get("OPKIT_UPDATE_GOLDEN"):
        Path(homes.__file__).write_text(written(found), encoding="utf-8")
    assert {module: " ".join(sorted(names)) for module, names in found.items()} == {
        module: " ".join(sorted(names.split())) for module, names in HOMES.items()
    }, "OPKIT_UPDATE_GOLDEN=1 writes opkit/ops/core/homes.py anew"


def test_asking_for_an_op_imports_its_module_alone() -> None:
    """A registry finds an op that no import has added yet, and other families stay where they are."""
    program = (
        "import sys\n"
        "from opkit.ops import BUILTIN\n"
        "assert 'softmax' in BUILTIN and 'opkit.ops.reduce.log_space' not in sys.modules\n"
        "assert BUILTIN.find('softmax').name == 'softmax'\n"
        "assert 'opkit.ops.network.conv' not in sys.modules\n"
        "BUILTIN.load()\n"
        "assert 'opkit.ops.network.conv' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


def test_a_home_that_lacks_its_op_is_an_unknown_op() -> None:
    """A name whose module does not add it is not found."""
    registry = Registry(homes={"no_such_op": "opkit.errors"})
    assert registry.find("no_such_op") is None
    with pytest.raises(UsageError, match="no op type 'no_such_op'"):
        registry.get("no_such_op")
