"""What prevents a build is one clear finding, and nothing that was built is lost; the compiler here is a script."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from opkit.errors import KernelError
from opkit.native import Built, Compiler, CppLibrary, build, cache_folder
from opkit.native.cache import held

#: Writes what it is asked for, and a line into a log; waits for the file "go" first where there is a file "wait".
SCRIPT = """#!/bin/sh
echo "$*" >> {folder}/log
while [ -e {folder}/wait ] && [ ! -e {folder}/go ]; do sleep 0.02; done
while [ $# -gt 1 ]; do
  if [ "$1" = -o ]; then echo made > "$2"; echo "x: y.cpp" > "${{2%.*}}.d"; fi
  shift
done
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with a source, and a cache of its own in force."""
    monkeypatch.setenv("OPKIT_CACHE", str(tmp_path / "cache"))
    (tmp_path / "k.cpp").write_text("int k;\n")
    return tmp_path


def scripted(folder: Path, text: str) -> Compiler:
    """Return a compiler that is a script."""
    file = folder / "compiler"
    file.write_text(text.format(folder=folder))
    file.chmod(0o755)
    return Compiler((str(file),))


def built(folder: Path, text: str) -> Built:
    """Build with a compiler that is a script."""
    return build([folder / "k.cpp"], scripted(folder, text))


@pytest.mark.parametrize(
    ("said", "status", "message"),
    [
        ("g++: fatal error: Killed signal terminated program cc1plus", 1, "ran out of memory"),
        ("cc1plus: out of memory allocating 65536 bytes", 1, "ran out of memory"),
        ("fatal error: error writing to /tmp/x.s: No space left on device", 1, "no space left on the disk"),
        ("ld: unknown trouble", 4, "the compiler failed with status 4: ld: unknown trouble"),
    ],
)
def test_a_compiler_that_fails(folder: Path, said: str, status: int, message: str) -> None:
    """What ended the compiler is said in one finding."""
    (finding,) = [
        item for item in built(folder, f"#!/bin/sh\necho '{said}'\nexit {status}\n").diagnostics if item.is_error
    ]
    assert (finding.code, message in finding.message) == ("PROJ030", True)


def test_a_compiler_that_is_too_old(folder: Path) -> None:
    """The headers name the oldest compilers that they serve."""
    refusal = '#error "opkit compiles C++ kernels with g++ 9 or later, or clang++ 10 or later"'
    headers = Path(cache_folder().parents[0], "none")  # the place is that of the headers, which are opkit's
    text = f"#!/bin/sh\necho '{headers}/checks.h:6:2: error: {refusal}'\nexit 1\n"
    (finding,) = built(folder, text).diagnostics
    assert "g++ 9 or later" in finding.message


def test_a_cache_that_is_full(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the disk is full, a finding says how to free some space."""

    def full(**_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("opkit.native.cache.tempfile.TemporaryFile", full)
    (finding,) = built(folder, SCRIPT).diagnostics
    assert "the cache folder is full" in finding.message
    assert "opkit cache --prune" in finding.help


def test_a_cache_that_cannot_be_written(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the cache folder cannot be made, a temporary one serves, and a note says so."""
    (folder / "cache").write_text("a file")
    (folder / "instead").mkdir()
    monkeypatch.setattr("opkit.native.cache._instead", [str(folder / "instead")])
    found = built(folder, SCRIPT)
    assert found.library is not None
    assert found.library.parent == folder / "instead"
    assert "cannot be written" in found.note


def test_a_library_that_is_not_whole_is_built_again(folder: Path) -> None:
    """A library that lost its end is noticed before it is loaded."""
    compiler = scripted(folder, SCRIPT)
    library = build([folder / "k.cpp"], compiler).library
    assert library is not None
    data = library.read_bytes()
    library.write_bytes(data[: len(data) // 2])
    assert build([folder / "k.cpp"], compiler).library == library
    assert library.read_bytes() == data


def child(folder: Path) -> subprocess.Popen[str]:
    """Start a process that builds, and prints where the library is."""
    program = (
        "from opkit.native import Compiler, build\n"
        f"print(build([{str(folder / 'k.cpp')!r}], Compiler(({str(folder / 'compiler')!r},))).library, flush=True)"
    )
    return subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, start_new_session=True)


def waits(folder: Path) -> None:
    """Return when the compiler was called."""
    end = time.monotonic() + 60
    while not (folder / "log").exists():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_two_processes_build_once(folder: Path) -> None:
    """One compiles while the other waits; both get the same library."""
    scripted(folder, SCRIPT)
    (folder / "wait").touch()
    both = [child(folder), child(folder)]
    waits(folder)
    (folder / "go").touch()
    first, second = (process.communicate(timeout=60)[0] for process in both)
    assert first == second != "None\n"
    assert (
        len((folder / "log").read_text().splitlines()) == 5
    )  # is it clang, two of the prelude, the source, the library


def test_one_that_is_killed_leaves_the_way_free(folder: Path) -> None:
    """A process that is killed while it compiles loses its lock; the next one builds, and its scratch is swept."""
    compiler = scripted(folder, SCRIPT)
    (folder / "wait").touch()
    process = child(folder)
    waits(folder)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    (folder / "wait").unlink()
    assert build([folder / "k.cpp"], compiler).library is not None
    left = [item.name for item in cache_folder().rglob("*") if item.is_dir() and not item.name.startswith("prelude-")]
    assert left == []


def test_a_lock_that_is_never_freed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A build does not wait for ever for another one."""
    monkeypatch.setattr("opkit.native.cache._PATIENCE", 0.05)
    with held(folder, "k"), pytest.raises(OSError, match="another process builds this"), held(folder, "k"):
        pass


def test_a_library_that_is_none_of_ours(tmp_path: Path) -> None:
    """What is no library, half of one, or of another version of opkit is refused in words."""
    broken = tmp_path / "broken.so"
    broken.write_bytes(b"\x7fELF no more")
    with pytest.raises(KernelError, match="cannot be loaded"):
        CppLibrary(broken)
    if shutil.which("g++") is None:
        pytest.skip("no g++ on this machine")
    source, other = tmp_path / "other.cpp", tmp_path / "other.so"
    source.write_text('extern "C" int opkit_abi() { return 99; }\n')
    subprocess.run(["g++", "-shared", "-fPIC", str(source), "-o", str(other)], check=True)
    with pytest.raises(KernelError, match="another version of opkit"):
        CppLibrary(other)
