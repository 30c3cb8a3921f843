"""Coverage-guided fuzzing of everything that reads what somebody else wrote; a campaign, not part of the tests.

``python -m tests.campaigns.fuzz TARGET SECONDS`` with atheris installed (``pip install atheris``; it is no dependency).
A run ends with libFuzzer's count of inputs; an input that ends in anything but one of opkit's own errors, takes more
than 20 seconds or 2 GiB, opens a file for writing or starts a process is written to ``crash-*`` in the working folder,
and becomes a test. The last figures are in docs/reliability.md.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import pickle
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import atheris

with atheris.instrument_imports(include=["opkit"]):
    from opkit.cli.arguments import pair_of, shape_of
    from opkit.cli.drawing import dot
    from opkit.cli.graphs import gradient_drawing, gradient_json, gradient_text, graphs_of
    from opkit.cli.svg import svg
    from opkit.configuration import read_configuration
    from opkit.diagnostics import SourceText
    from opkit.errors import InferError, OpkitError, UsageError
    from opkit.foreign import FormatError, read_array, read_entries, read_json, read_pickle
    from opkit.ir import TensorDesc
    from opkit.oneflow.semantics.checkpoint import CheckpointError, read_checkpoint
    from opkit.project import assemble, discover
    from opkit.project.attribute import parse_attr
    from opkit.shim.finder import frameworks
    from opkit.spec import compile_spec
    from opkit.static.functions import Functions
    from opkit.static.program_file import program_of
    from opkit.static.storage import archive_of, arrays_of_archive

import numpy as np
import typer

__all__ = ["TARGETS", "main"]

ROOT = Path(__file__).resolve().parents[2]
#: Audit events that nothing fuzzed here may cause; a file that is opened for writing is looked at by itself.
_FORBIDDEN = (
    "os.system",
    "subprocess.Popen",
    "os.exec",
    "os.fork",
    "socket.connect",
    "os.remove",
    "os.rename",
    "os.rmdir",
)
_is_watched: list[bool] = [False]


class ForbiddenError(BaseException):
    """What was fuzzed did something to the machine."""


def _audit(event: str, args: tuple[Any, ...]) -> None:
    if _is_watched[0] and (
        event in _FORBIDDEN or (event == "open" and isinstance(args[1], str) and set(args[1]) & set("wax+"))
    ):
        raise ForbiddenError(f"{event} {args!r}")


@contextlib.contextmanager
def _unwatched() -> Iterator[None]:
    """Let the campaign itself write the files that are read next."""
    _is_watched[0] = False
    yield
    _is_watched[0] = True


def _definition(data: bytes) -> None:
    """Compile the bytes, ask what was compiled for a few shapes, and draw the gradients as ``opkit graph DIR`` does."""
    result = compile_spec(SourceText(data.decode("utf-8", "replace"), "a_cpp_def.cpp"))
    for name, op in result.ops.items():
        op.python_source()
        for shape, dtype in (((2, 3), "float32"), ((), "int32")):
            inputs = {arg.name: [TensorDesc(shape, dtype)] * max(arg.count, 1) for arg in op.inputs}
            with contextlib.suppress(InferError):
                op.infer(inputs)
            with contextlib.suppress(InferError):
                op.sbp_signatures(inputs, parallel_num=2)
            if name in result.grads:
                with contextlib.suppress(InferError):
                    result.grads[name].build(inputs)
    if not result.grads:
        return
    with _unwatched():
        place = Path(_folder[0], "a")
        place.mkdir(exist_ok=True)
        (place / "a_cpp_def.cpp").write_bytes(data)
    loaded = [assemble(directory, runs_python=False) for directory in discover([place])]
    for graph in graphs_of(loaded, {}, "float32")[0]:
        gradient_text(graph)
        json.dumps(gradient_json(graph))
        for draw in (dot, svg):
            draw(gradient_drawing(graph))


def _pickle(data: bytes) -> None:
    with contextlib.suppress(FormatError):
        read_pickle(data)


def _archive(data: bytes) -> None:
    with contextlib.suppress(OpkitError):
        arrays_of_archive(data, "a")
    with contextlib.suppress(FormatError):
        read_entries(data, inflated=1 << 20)
    with contextlib.suppress(FormatError):
        read_array(data)
    with contextlib.suppress(FormatError):
        read_json(data)


def _program(data: bytes) -> None:
    """The bytes are the JSON text of a program, or changes to a good one: (place, byte) after byte."""
    text = data if data[:1] == b"{" else _changed(_PROGRAM, data)
    entries = {"program.json": np.frombuffer(text, np.uint8), "0": np.arange(3.0)}
    with contextlib.suppress(OpkitError):
        program_of(archive_of(entries), "m", Functions(), ("feeds", "fetches"))


def _changed(good: bytes, data: bytes) -> bytes:
    found = bytearray(good)
    for at in range(0, len(data) - 2, 3):
        found[int.from_bytes(data[at : at + 2], "little") % len(found)] = data[at + 2]
    return bytes(found)


def _checkpoint(data: bytes) -> None:
    kind, _, rest = data.partition(b"\0")
    names = {b"m": "w/meta", b"o": "w/out", b"j": "opkit.json"}
    with _unwatched():
        for file, content in _CHECKPOINT.items():
            Path(_folder[0], file).write_bytes(content)
        Path(_folder[0], names.get(kind[:1], "w/meta")).write_bytes(rest)
    with contextlib.suppress(CheckpointError):
        for item in read_checkpoint(_folder[0]).values():
            with contextlib.suppress(CheckpointError):
                item.numpy()


def _options(data: bytes) -> None:
    """The bytes are the value of an option, or, where they begin with a bracket, a pyproject.toml."""
    if data[:1] == b"[":
        with _unwatched():
            Path(_folder[0], "pyproject.toml").write_bytes(data)
        with contextlib.suppress(UsageError):
            read_configuration(Path(_folder[0])).options()
        return
    text = data.decode("utf-8", "surrogateescape")
    for read in (shape_of, parse_attr, pair_of):
        with contextlib.suppress(UsageError, typer.BadParameter):
            read(text)


def _shim(data: bytes) -> None:
    """Import a name, or an attribute of it, under the frameworks' names."""
    words = data.decode("utf-8", "replace").split(".")[:6]
    with frameworks(), contextlib.suppress(ImportError, AttributeError, OpkitError, ValueError):
        found: Any = __import__("paddle" if len(data) % 2 else "oneflow")
        for word in words:
            found = getattr(found, word)


_PROGRAM = b""
_CHECKPOINT = {
    "w/meta": b"shape {\n  dim: 3\n}\ndata_type: kFloat\n",
    "w/out": bytes(12),
    "opkit.json": b'{"schema": 1, "crc32": {"w": 2064262241}}',
    "snapshot_done": b"",
}
_CONFIGURATION = b"""[tool.opkit]
seed = 1
effort = 0.5
select = ["GC101"]
reports = ["json=a.json"]
[tool.opkit.overrides."a*"]
timeout = 3e1
"""
_folder: list[str] = []
TARGETS: dict[str, Callable[[bytes], None]] = {
    "definition": _definition,
    "pickle": _pickle,
    "archive": _archive,
    "program": _program,
    "checkpoint": _checkpoint,
    "options": _options,
    "shim": _shim,
}


def _seeds(target: str) -> list[bytes]:
    """Return good inputs, which mutants start from."""
    if target == "definition":
        return [path.read_bytes() for path in sorted(ROOT.glob("sample_ops/*/*_cpp_def.cpp"))]
    if target == "pickle":
        held = {"w": np.arange(3.0), "t": ("n", np.ones(2, "i4")), "l": [1, 2.5, "x", None, b"b", {}]}
        return [pickle.dumps(held, protocol) for protocol in (2, 3, 4, 5)]
    if target == "archive":
        plain = io.BytesIO()
        np.savez_compressed(plain, a=np.arange(3), b=np.array("text"))
        return [archive_of({"w": np.arange(3.0)}), plain.getvalue(), b'{"a": [1, 2, {"b": null}]}']
    if target == "program":
        return [_PROGRAM, b"\0\0{", b"\5\5\5\7\7\7"]
    if target == "checkpoint":
        return [kind + b"\0" + content for kind, content in zip((b"m", b"o", b"j"), _CHECKPOINT.values())]
    if target == "options":
        return [b"x=3,4", b"alpha:float=0.5", b"n:int", b"json=a.json", _CONFIGURATION]
    return [b"nn.functional.relu", b"math.add", b"static.Program"]


def main(target: str, seconds: int) -> None:
    """Fuzz one target for so long; libFuzzer ends the process."""
    global _PROGRAM
    saved = ROOT / "tests/static/data/saved/earlier.pdmodel"
    _PROGRAM = json.dumps(json.loads(bytes(arrays_of_archive(saved.read_bytes(), saved)["program.json"]))).encode()
    place = TemporaryDirectory(prefix="opkit-fuzz-")
    corpus = Path(place.name, "corpus")
    corpus.mkdir()
    for number, seed in enumerate(_seeds(target)):
        (corpus / str(number)).write_bytes(seed)
    _folder[:] = [str(Path(place.name, "ck"))]
    Path(_folder[0], "w").mkdir(parents=True)
    act = TARGETS[target]
    sys.addaudithook(_audit)

    def one(data: bytes) -> None:
        _is_watched[0] = True
        try:
            act(data)
        finally:
            _is_watched[0] = False

    limits = [
        f"-max_total_time={seconds}",
        "-timeout=20",
        "-rss_limit_mb=2048",
        "-max_len=8192",
        "-print_final_stats=1",
    ]
    atheris.Setup([sys.argv[0], *limits, f"-artifact_prefix={os.getcwd()}/", str(corpus)], one)
    atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
