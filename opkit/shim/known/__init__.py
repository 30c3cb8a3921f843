"""What the frameworks have: their public modules and names, read from the text files beside this module on first need.

A line is a module and its names; ``name=path`` is the same object as that shorter path, ``!name`` an exception class.
``benchmarks/paddle_names.py`` and ``benchmarks/oneflow_names.py`` write the files. What opkit has is not known here.

For the parts that opkit leaves out it says what to use instead, and which paths are optional: their import fails with
ImportError, since scripts that try them have another branch. Every other name of a framework can be imported.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from opkit.record import record

__all__ = ["OPTIONAL", "Known", "Table", "instead_of", "table_of"]

#: framework's import name -> what its release is called in messages
RELEASES = {"oneflow": "OneFlow v0.4", "paddle": "Paddle 2.6.2"}


@record
class Known:
    """A name that a framework has.

    Args:
        path: the dotted path that was asked for.
        shortest: the shortest path of the same object; ``path`` where there is no other.
        is_exception: it is an exception class.
    """

    path: str
    shortest: str
    is_exception: bool = False


class Table:
    """The modules of one release of a framework and the names in each.

    Args:
        release: what the release is called in messages.
        text: the lines of the table.
    """

    def __init__(self, release: str, text: str) -> None:
        self.release = release
        lines = (line.partition(" ") for line in text.splitlines() if not line.startswith("#"))
        self._modules = {module: names for module, _, names in lines}
        self._split: dict[str, dict[str, Known]] = {}

    def is_module(self, path: str) -> bool:
        """Return whether the framework has a module of that path."""
        return path in self._modules

    def names(self, module: str) -> list[str]:
        """Return the names in a module, its submodules included; none where there is no such module."""
        return list(self._names(module))

    def find(self, module: str, name: str) -> Known | None:
        """Return what a module has under a name, None where it has nothing."""
        return self._names(module).get(name)

    def _names(self, module: str) -> dict[str, Known]:
        found = self._split.get(module)
        if found is None:
            words = self._modules.get(module, "").split()
            found = {known.path.rpartition(".")[2]: known for known in (_known(module, word) for word in words)}
            for path in self._modules:
                parent, _, name = path.rpartition(".")
                if parent == module:
                    found.setdefault(name, Known(path, path))
            self._split[module] = found
        return found


def _known(module: str, word: str) -> Known:
    name, _, shortest = word.removeprefix("!").partition("=")
    path = f"{module}.{name}"
    return Known(path, shortest or path, word.startswith("!"))


@cache
def table_of(framework: str) -> Table | None:
    """Return the table of a framework by its import name, None where there is none."""
    release = RELEASES.get(framework)
    if release is None:
        return None
    return Table(release, (Path(__file__).parent / f"{framework}.txt").read_text(encoding="utf-8"))


#: path of a module or name -> the nearest that opkit has, for it and all below it
_INSTEAD = {
    "oneflow.data": "read the data with numpy and feed it to the job",
    "paddle.Model": "write the loop over paddle.io.DataLoader yourself: loss.backward(), optimizer.step()",
    "paddle._C_ops": "call the public function of the same name, such as paddle.matmul",
    "paddle._legacy_C_ops": "call the public function of the same name, such as paddle.matmul",
    "paddle.audio": "compute the features with numpy before the network",
    "paddle.callbacks": "write the loop over paddle.io.DataLoader yourself",
    "paddle.distribution": "draw with paddle.normal, paddle.uniform, paddle.rand; a log-probability is a formula",
    "paddle.fft": "compute the transform with numpy.fft in a paddle.autograd.PyLayer",
    "paddle.geometric": "use paddle.gather, paddle.scatter and paddle.index_add",
    "paddle.hapi": "write the loop over paddle.io.DataLoader yourself",
    "paddle.incubate": "use the layers and functions of paddle.nn that it is composed of",
    "paddle.inference": "load the network with paddle.jit.load or paddle.static.load_inference_model",
    "paddle.nn.quant": "write the rounding as a paddle.autograd.PyLayer",
    "paddle.onnx": "export a custom op with `opkit export`",
    "paddle.quantization": "write the rounding as a paddle.autograd.PyLayer whose backward passes the gradient on",
    "paddle.signal": "compute the transform with numpy in a paddle.autograd.PyLayer",
    "paddle.sparse": "use dense tensors",
    "paddle.text": "read the data with numpy into a paddle.io.Dataset",
    "paddle.utils.cpp_extension": "write the op as a directory (`opkit new`) or as a paddle.autograd.PyLayer",
    "paddle.vision": "build the network of paddle.nn's layers and read pictures into a paddle.io.Dataset with numpy",
}


def instead_of(path: str) -> str:
    """Return the advice for a path, that of its longest part with one; "" where there is none."""
    while path:
        if path in _INSTEAD:
            return _INSTEAD[path]
        path = path.rpartition(".")[0]
    return ""


_FUSED = "its fused kernel needs a GPU"
_ATTENTION = "use paddle.nn.functional.scaled_dot_product_attention or matmul and softmax"

#: path of a module or name -> why it is taken as not installed
OPTIONAL: dict[str, str] = {
    "paddle.incubate.nn.functional.fused_rms_norm": f"{_FUSED}; compose it of plain ops",
    "paddle.incubate.nn.functional.fused_rotary_position_embedding": f"{_FUSED}; compose it of plain ops",
    "paddle.incubate.nn.functional.variable_length_memory_efficient_attention": f"{_FUSED}; {_ATTENTION}",
    "paddle.incubate.nn.memory_efficient_attention": f"{_FUSED}; {_ATTENTION}",
    "paddle.nn.functional.flash_attention": f"{_FUSED}; {_ATTENTION}",
}
