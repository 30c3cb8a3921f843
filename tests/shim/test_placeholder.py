"""A name that the framework has and opkit lacks can be imported; every use of it raises, and says where."""

from __future__ import annotations

import copy
import subprocess
import sys
import typing
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from opkit.errors import MissingNameError
from opkit.shim import run_script
from opkit.shim.placeholder import MissingModule, MissingName, missing_exception


@pytest.fixture
def name() -> MissingName:
    """A missing name with its advice."""
    return MissingName("acme.vision.Net", "Acme 1.0", lambda: "use acme.nn")


USES: dict[str, Callable[[Any], Any]] = {
    "call": lambda name: name(1),
    "equal": lambda name: name == 1,
    "unequal": lambda name: name != 1,
    "less": lambda name: name < 1,
    "add": lambda name: 1 + name,
    "index": lambda name: [1, 2][name],
    "float": float,
    "truth": lambda name: 1 if name else 2,
    "iterate": list,
    "length": len,
    "contains": lambda name: 1 in name,
    "part": lambda name: name.from_file("x"),
    "item": lambda name: name["x"](),
}


@pytest.mark.parametrize("use", list(USES))
def test_a_use_raises(name: MissingName, use: str) -> None:
    """The error names what is missing, who has it, the nearest, and the line of the script."""
    with pytest.raises(MissingNameError) as caught:
        USES[use](name)
    text = str(caught.value)
    assert "opkit has no acme.vision.Net" in text
    assert "Acme 1.0" in text
    assert "use acme.nn" in text
    assert f"{Path(__file__).name}:" in text


def test_instantiating_a_subclass_is_a_use(name: MissingName) -> None:
    """Defining it is not; the class is a subclass to issubclass."""

    class Mine(name):  # type: ignore[misc, valid-type]
        def __init__(self) -> None:
            raise AssertionError("never reached")

    assert issubclass(Mine, name)  # type: ignore[arg-type]
    with pytest.raises(MissingNameError, match="instantiating its subclass 'Mine'"):
        Mine()


def test_a_subclass_with_another_base_says_so_too(name: MissingName) -> None:
    """A missing mixin stops the instance."""

    class Base:
        pass

    class Mine(Base, name):  # type: ignore[misc, valid-type]
        pass

    with pytest.raises(MissingNameError):
        Mine()


def test_annotations_and_defaults_are_not_uses(name: MissingName) -> None:
    """Unions, Optional, generics and defaults may mention it."""

    def function(a: name | None = name, b: name | None = None) -> None:  # type: ignore[valid-type]
        assert a is name

    function()
    assert typing.Optional[name] == typing.Union[name, None]  # noqa: UP007, UP045
    assert typing.Union[int, name]  # noqa: UP007


def test_nothing_is_an_instance(name: MissingName) -> None:
    """Isinstance answers no, also within a tuple of classes."""
    assert not isinstance(3, name)  # type: ignore[arg-type]
    assert isinstance(3, (name, int))  # type: ignore[arg-type]


def test_it_can_be_a_key_and_be_copied(name: MissingName) -> None:
    """Tables of defaults and configurations may hold it."""
    table = {name: 1}
    assert table[name] == 1
    assert copy.deepcopy([name])[0] is name
    assert name.MEMBER is name.MEMBER


def test_a_decorator_makes_missing_what_it_decorates(name: MissingName) -> None:
    """Decorating is not a use, with arguments or without; calling what was decorated is."""

    @name
    def plain() -> int:
        return 1

    @name.register(key="x")
    def given() -> int:
        return 1

    @name
    class Plain:
        pass

    for made in (plain, given, Plain):
        with pytest.raises(MissingNameError, match=r"acme\.vision\.Net"):
            made()
    with pytest.raises(MissingNameError, match="calling it"):

        def default(x: object = name()) -> None:
            pass


def test_python_asks_in_vain_for_special_names(name: MissingName) -> None:
    """Private and special attributes are ordinary AttributeErrors, so that hasattr says no."""
    assert not hasattr(name, "__wrapped__")
    assert not hasattr(name, "_fields")


def test_an_exception_can_be_caught() -> None:
    """A missing exception class stands in an except clause and can be subclassed and raised by the script."""
    error = missing_exception("acme.core.Stop", "Acme 1.0")

    class Mine(error):  # type: ignore[misc, valid-type]
        pass

    with pytest.raises(error):
        raise Mine("x")
    assert error.__module__ == "acme.core"


def test_a_module_lists_and_finds_its_names(name: MissingName) -> None:
    """A placeholder of a module has the framework's names; Python's special names are not asked for."""
    module = MissingModule("acme.vision", ["Net"], {"Net": name}.__getitem__)
    assert module.Net is name
    assert dir(module) == ["Net"]
    with pytest.raises(AttributeError):
        module.__wrapped__  # noqa: B018


SCRIPT = """
import paddle
import paddle.vision.transforms as T
from paddle.vision.models import ResNet, resnet50 as build
from paddle.nn.layer.common import Linear
from paddle.base.dygraph.base import core
from paddle.vision.models import *
assert Linear is paddle.nn.Linear
assert core is paddle.base.core
assert paddle.vision.transforms is T
assert mobilenet_v2 is paddle.vision.models.mobilenet_v2
class Net(ResNet):
    pass
try:
    from paddle.vision import resnett
except ImportError as error:
    assert "opkit has no paddle.vision.resnett" in str(error), error
try:
    import paddle.visionn
except ImportError as error:
    assert "paddle.visionn" in str(error), error
else:
    raise SystemExit("imported")
build(pretrained=True)
"""


def test_a_script_stops_at_the_first_use(tmp_path: Path) -> None:
    """Imports, aliases and a subclass pass; the call names the script's line; a name that nobody has fails at once."""
    path = tmp_path / "job.py"
    path.write_text(SCRIPT)
    with pytest.raises(MissingNameError, match=r"paddle\.vision\.models\.resnet50") as caught:
        run_script(path)
    assert caught.value.where is not None
    assert (caught.value.where.file, caught.value.where.line) == (str(path), len(SCRIPT.splitlines()))


def test_the_table_is_read_only_when_a_name_is_missing() -> None:
    """`import paddle` reads no table."""
    code = "import sys, opkit.paddle; sys.exit(any(m.startswith('opkit.shim.known') or m == 'opkit.shim.placeholder' for m in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_an_optional_module_counts_as_not_installed(tmp_path: Path) -> None:
    """A script that tries it takes its other branch, and the error has the reason."""
    path = tmp_path / "job.py"
    path.write_text(
        "import importlib.util, paddle\n"
        "texts = []\n"
        "for line in ('from paddle.nn.functional.flash_attention import flash_attention',\n"
        "             'from paddle.nn.functional import flash_attention',\n"
        "             'import paddle.nn.functional.flash_attention',\n"
        "             'from paddle.incubate.nn.functional import fused_rms_norm'):\n"
        "    try:\n"
        "        exec(line)\n"
        "    except ImportError as error:\n"
        "        texts.append(str(error))\n"
        "found = importlib.util.find_spec('paddle.nn.functional.flash_attention')\n"
        "has = hasattr(paddle.nn.functional, 'flash_attention')\n"
    )
    names = run_script(path)
    assert len(names["texts"]) == 4
    assert all("needs a GPU" in text for text in names["texts"]), names["texts"]
    assert names["found"] is None
    assert not names["has"]


def test_an_older_part_has_the_modules_of_its_present_name(tmp_path: Path) -> None:
    """paddle.fluid's modules are those of paddle.base, the same objects; what neither has is an ImportError."""
    path = tmp_path / "job.py"
    path.write_text(
        "import paddle, paddle.fluid.core\n"
        "from paddle.fluid import core\n"
        "from paddle.fluid.framework import EagerParamBase, in_dygraph_mode\n"
        "from paddle.fluid.layer_helper import LayerHelper\n"
        "same = [core is paddle.base.core, paddle.fluid.core is core]\n"
        "same += [EagerParamBase is paddle.base.framework.EagerParamBase]\n"
        "try:\n"
        "    import paddle.fluid.nope\n"
        "except ImportError as error:\n"
        "    text = str(error)\n"
    )
    names = run_script(path)
    assert names["same"] == [True, True, True]
    assert isinstance(names["LayerHelper"], MissingName)
    assert "paddle.fluid.nope" in names["text"]
