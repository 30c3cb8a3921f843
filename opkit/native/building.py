"""Building a library of kernels from C++ sources: the prelude once, each source once, all of it through the cache.

What the library holds is found by loading it; nothing is loaded here.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path

from opkit.atomic import write_file
from opkit.diagnostics import Diagnostic, Severity
from opkit.native.cache import add_entry, digest_of, find_entry, held, is_instead, writable_folder
from opkit.native.compiler import INCLUDE, Compiler
from opkit.native.diagnosing import CODE, findings_of
from opkit.paths import StrPath
from opkit.record import record
from opkit.scratch import scratch_folder, sweep

_PRELUDE = '#include "opkit/prelude.h"\n'
_SECONDS = 900


@record
class Built:
    """The result of a build.

    Args:
        library: the shared library, None where there are errors.
        diagnostics: what the compiler said, at the user's lines.
        seconds: that the build took; 0 where the cache had it.
        note: a remark about the cache, "" without one.
    """

    library: Path | None
    diagnostics: tuple[Diagnostic, ...] = ()
    seconds: float = 0.0
    note: str = ""


def build(
    sources: Sequence[StrPath],
    compiler: Compiler,
    *,
    include_dirs: Sequence[StrPath] = (),
    is_sanitized: bool = False,
) -> Built:
    """Return the library of these sources, from the cache where nothing that it was made from has changed.

    Args:
        sources: C++ files; each one's folder is searched for headers.
        compiler: what compiles them.
        include_dirs: more folders of headers.
        is_sanitized: with address and undefined-behaviour sanitizers, for a process that has their runtime.
    """
    files = [os.path.abspath(path) for path in sources]
    folders = [*dict.fromkeys(os.path.dirname(path) for path in files), *map(os.path.abspath, include_dirs)]
    try:
        folder = writable_folder()
        key = _key(files, folders, compiler, is_sanitized)
        note = f"the cache folder cannot be written: {folder} serves in this process" if is_instead(folder) else ""
        found = find_entry(folder, key)
        if found is not None:
            return Built(found, note=note)
        started = time.perf_counter()
        with held(folder, key):
            found = find_entry(folder, key)  # another process may have built it meanwhile
            if found is None:
                job = _Job(folder, key, files, folders, compiler, is_sanitized)
                found, diagnostics = job.run()
            else:
                diagnostics = ()
        return Built(found, diagnostics, time.perf_counter() - started, note)
    except OSError as error:
        help = "free some space, run 'opkit cache --prune', or name another folder in OPKIT_CACHE"
        return Built(None, (_trouble(f"C++ kernels cannot be built: {error}", help),))


def compile_commands(sources: Sequence[StrPath], compiler: Compiler, include_dirs: Sequence[str] = ()) -> str:
    """Return the text of a ``compile_commands.json`` for editors."""
    rows = [
        {
            "directory": os.path.dirname(os.path.abspath(path)),
            "file": os.path.abspath(path),
            "arguments": [
                *compiler.command,
                *compiler.flags_for(),
                *_includes([os.path.dirname(os.path.abspath(path)), *include_dirs]),
                "-c",
                os.path.abspath(path),
            ],
        }
        for path in sources
    ]
    return json.dumps(rows, indent=2) + "\n"


@record
class _Job:
    """One build that the cache could not spare."""

    folder: Path
    key: str
    files: list[str]
    folders: list[str]
    compiler: Compiler
    is_sanitized: bool

    def run(self) -> tuple[Path | None, tuple[Diagnostic, ...]]:
        """Compile and link; return the library, None where there are errors, and what the compiler said."""
        sweep(self.folder)
        flags = self.compiler.flags_for(is_sanitized=self.is_sanitized)
        prelude, trouble = _prelude(self.folder, self.compiler, flags)
        if prelude is None:
            return None, trouble
        with scratch_folder(self.folder) as scratch:
            objects = [os.path.join(scratch.path, f"{number}.o") for number in range(len(self.files))]
            commands = [
                [
                    *flags,
                    "-include",
                    str(prelude / "prelude.h"),
                    *_includes(self.folders),
                    "-MMD",
                    "-c",
                    file,
                    "-o",
                    made,
                ]
                for file, made in zip(self.files, objects)
            ]
            with ThreadPoolExecutor(max(1, min(len(commands), os.cpu_count() or 1))) as pool:
                outputs = list(pool.map(lambda words: _run(self.compiler, words), commands))
            diagnostics = tuple(item for status, text in outputs for item in _said(status, text, self.files))
            if any(status for status, _ in outputs):
                return None, diagnostics
            library = os.path.join(scratch.path, "library.so")
            strict = () if self.is_sanitized or os.uname().sysname != "Linux" else ("-Wl,-z,defs",)
            link = [*flags, "-shared", *objects, str(prelude / "entry.o"), "-o", library, *strict, "-lm"]
            status, text = _run(self.compiler, link)
            if status:
                return None, (*diagnostics, *_said(status, text, self.files))
            headers = sorted({name for made in objects for name in _depends(made)} - set(self.files))
            return add_entry(self.folder, self.key, Path(library), self.files, headers), diagnostics


def _prelude(folder: Path, compiler: Compiler, flags: Sequence[str]) -> tuple[Path | None, tuple[Diagnostic, ...]]:
    """Return the folder of the compiled prelude and entry points for these flags; they are compiled once."""
    place = folder / f"prelude-{digest_of(_headers(), *compiler.identity(), *flags)}"
    if (place / "whole").is_file():
        return place, ()
    with held(folder, place.name):
        if (place / "whole").is_file():
            return place, ()
        place.mkdir(exist_ok=True)
        write_file(place / "prelude.h", _PRELUDE.encode())
        with scratch_folder(place) as scratch:
            header, entry = os.path.join(scratch.path, "prelude.gch"), os.path.join(scratch.path, "entry.o")
            common = [*flags, *_includes([])]
            suffix = "pch" if _is_clang(compiler) else "gch"
            first = ("-include", str(place / "prelude.h"))  # a compiled prelude serves only where it comes first
            for made, name, words in (
                (header, f"prelude.h.{suffix}", ["-x", "c++-header", str(place / "prelude.h")]),
                (entry, "entry.o", [*first, "-c", str(INCLUDE / "opkit" / "entry.cpp")]),
            ):
                status, text = _run(compiler, [*common, *words, "-o", made])
                if status:
                    return None, tuple(item for item in _said(status, text, []) if item.is_error)
                os.replace(made, place / name)
        write_file(place / "whole", b"")
    return place, ()


def _is_clang(compiler: Compiler) -> bool:
    status, text = _run(compiler, ["--version"])
    return not status and "clang" in text


def _includes(folders: Sequence[str]) -> list[str]:
    return [f"-I{name}" for name in (*folders, INCLUDE)]


@lru_cache(maxsize=1)
def _headers() -> str:
    return digest_of(*(path.read_bytes() for path in sorted(INCLUDE.rglob("*")) if path.is_file()))


def _key(files: Sequence[str], folders: Sequence[str], compiler: Compiler, is_sanitized: bool) -> str:
    contents = [Path(file).read_bytes() for file in files]
    flags = compiler.flags_for(is_sanitized=is_sanitized)
    return digest_of(_headers(), *compiler.identity(), *flags, "", *files, *folders, *contents)


def _run(compiler: Compiler, words: Sequence[str]) -> tuple[int, str]:
    command = [*compiler.command, *words]
    try:
        ended = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, "LC_ALL": "C"},
            timeout=_SECONDS,
        )
    except subprocess.TimeoutExpired:
        return 1, f"the compiler took longer than {_SECONDS} s: {shlex.join(command)[:200]}"
    return ended.returncode, ended.stdout.decode("utf-8", errors="replace")


def _said(status: int, text: str, files: Sequence[str]) -> tuple[Diagnostic, ...]:
    """Return what a compiler's run says: its findings, else what became of it."""
    found = findings_of(text, files)
    if "No space left on device" in text:
        return (_trouble("the compiler found no space left on the disk", "free some space or set OPKIT_CACHE"),)
    if not status or any(item.is_error for item in found):
        return found
    if status < 0 or "Killed signal" in text or ("cc1plus" in text and "out of memory" in text):
        return (
            *found,
            _trouble("the compiler was killed, most likely because the machine ran out of memory"),
        )
    last = next((line for line in reversed(text.splitlines()) if line.strip()), "")
    return (*found, _trouble(f"the compiler failed with status {status}: {last[:200]}"))


def _trouble(message: str, help: str = "") -> Diagnostic:
    return Diagnostic(CODE, Severity.ERROR, message, help=help)


def _depends(made: str) -> list[str]:
    """Return the user's headers that an object was made from, by the compiler's list beside it."""
    text = Path(made).with_suffix(".d").read_text(encoding="utf-8", errors="surrogateescape")
    words = text.replace("\\\n", " ").partition(":")[2].replace("\\ ", "\0").split()
    full = [os.path.abspath(word.replace("\0", " ")) for word in words]
    return [name for name in full if not name.startswith(str(INCLUDE)) and not name.endswith("prelude.h")]
