"""Trials in a process of their own: whatever an API file does, the trial ends in time and says what happened."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from opkit.project import discover
from opkit.project.directory import op_directory_of
from opkit.verify.trial import ApiTrial, tried
from opkit.verify.trial import child as child_module
from tests.verify.test_trial import END, HEAD, KERNEL, SPEC, F

GOOD = f'def good(x):\n    return {F}.Input("x", [x]).Output("y"){END}\n'
BAD = f'def bad(x):\n    return {F}.Input("x", x).Output("y"){END}\n\n\n'
IMPORTS = "import os, signal, sys, threading, time\n"

#: name: (API file, codes, a piece of the last message)
HOSTILE = {
    "hangs": ("while True:\n    pass\n", ["PROJ024"], "at its top level it did not finish within 1.5 s"),
    "sleeps through signals": ("signal.signal(signal.SIGTERM, signal.SIG_IGN)\ntime.sleep(60)\n", ["PROJ024"], "did not finish"),
    "hangs in a function": (BAD + "def f(x):\n    time.sleep(60)\n", ["PROJ021", "PROJ024"], "in f() it did not finish"),
    "ends its process": ("os._exit(0)\n", ["PROJ024"], "it ended its process with exit status 0"),
    "ends it in a function": (BAD + "def f(x):\n    os._exit(5)\n", ["PROJ021", "PROJ024"], "in f() it ended its process with exit status 5"),
    "crashes": ("os.kill(os.getpid(), signal.SIGSEGV)\n", ["PROJ024"], "it was ended by signal 11 (SIGSEGV)"),
    "exits": ("sys.exit('enough')\n", ["PROJ016"], "SystemExit: enough"),
    "interrupts": ("raise KeyboardInterrupt\n", ["PROJ016"], "KeyboardInterrupt"),
    "exits in a function": ("def f(x):\n    sys.exit(1)\n", ["PROJ023"], "SystemExit"),
    "recurses": ("def f(x):\n    return f(x)\n", [], ""),
    "recurses with another": ("def f(x):\n    return f2(x)\n\n\ndef f2(x):\n    return f(x)\n", [], ""),
    "prints": ("print('loud' * 1000)\nos.write(1, b'loud')\nos.write(2, b'loud')\n" + GOOD, [], ""),
    "closes its descriptors": ("os.closerange(0, 64)\n" + GOOD, [], ""),
    "takes sys.stdout away": ("sys.stdout = sys.stderr = None\n" + GOOD, [], ""),
    "reads": ("try:\n    input()\nexcept EOFError:\n    pass\n" + GOOD, [], ""),
    "starts a thread": ("threading.Thread(target=time.sleep, args=(60,)).start()\n" + GOOD, [], ""),
    "forks": ("os.fork()\n" + BAD + GOOD, ["PROJ021"], ""),
    "forks at each call": ("def f(x):\n    os.fork()\n    open('{folder}/calls', 'a').write('x')\n    raise ValueError(x)\n", ["PROJ023"], "ValueError"),
    "leaves a child": (f"if os.fork() == 0:\n    open('{{folder}}/pid', 'w').write(str(os.getpid()))\n    time.sleep(60)\n{GOOD}", [], ""),
    "changes what is global": ("os.chdir('/')\nsys.path.clear()\nos.environ.clear()\n" + GOOD, [], ""),
    "counts on nothing left": ("import builtins\ndel builtins.open\n" + BAD, [], None),
    "is another encoding": ("# caf\xe9\n" + GOOD, [], ""),
}  # fmt: skip


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[dict[str, object]]]:
    """Try all hostile files in a process that forks; give the facts by name."""
    folder = tmp_path_factory.mktemp("hostile")
    for number, (api, _, _) in enumerate(HOSTILE.values()):
        path = folder / f"n{number}" / "t"
        path.mkdir(parents=True)
        (path / "t_cpp_def.cpp").write_text(SPEC)
        (path / "t_py_kernel.py").write_text(KERNEL)
        text = HEAD + IMPORTS + api.replace("{folder}", str(path))
        (path / "t_py_api.py").write_bytes(text.encode())
    code = (
        "import json, sys\nfrom dataclasses import asdict\nfrom opkit.verify.trial import tried\nfrom opkit.project import discover\n"
        "found = tried(discover([sys.argv[1]]), 1.5)\n"
        "print(json.dumps({key: [asdict(fact.remark) for fact in facts] for key, facts in found.items()}))"
    )
    env = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    ran = subprocess.run([sys.executable, "-c", code, str(folder)], capture_output=True, text=True, env=env, timeout=60)
    assert ran.stderr == ""
    facts = json.loads(ran.stdout)
    found = {name: facts[os.path.realpath(folder / f"n{number}" / "t")] for number, name in enumerate(HOSTILE)}
    calls = folder / f"n{list(HOSTILE).index('forks at each call')}" / "t" / "calls"
    found["calls"] = [{"message": calls.stat().st_size}]
    found["pid"] = [{"message": (folder / f"n{list(HOSTILE).index('leaves a child')}" / "t" / "pid").read_text()}]
    return found


@pytest.mark.xdist_group("hostile")
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file(name: str, outcome: dict[str, list[dict[str, object]]]) -> None:
    """What was found before it ended is kept, what ended it is said, and nothing of it is printed."""
    _, codes, part = HOSTILE[name]
    if part is None:
        assert len(outcome[name]) == 1
        return
    assert [item["code"] for item in outcome[name]] == codes
    assert part in "".join(str(item["message"]) for item in outcome[name][-1:])


@pytest.mark.xdist_group("hostile")
def test_what_it_started_is_ended(outcome: dict[str, list[dict[str, object]]]) -> None:
    """A process that an API file forks does not outlive the trial."""
    pid = int(str(outcome["pid"][0]["message"]))
    until = time.monotonic() + 5
    while _is_running(pid) and time.monotonic() < until:
        time.sleep(0.01)
    assert not _is_running(pid)


@pytest.mark.xdist_group("hostile")
def test_forks_do_not_multiply(outcome: dict[str, list[dict[str, object]]]) -> None:
    """A function that forks at each of its calls leaves two processes per call, not twice as many each time."""
    assert int(str(outcome["calls"][0]["message"])) <= 2 * 24


def _is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def _directory(tmp_path: Path, api: str) -> Path:
    path = tmp_path / "t"
    path.mkdir()
    (path / "t_cpp_def.cpp").write_text(SPEC)
    (path / "t_py_kernel.py").write_text(KERNEL)
    (path / "t_py_api.py").write_text(HEAD + IMPORTS + api)
    return path


def test_a_process_with_threads_is_not_forked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a fork would copy threads' locks a fresh interpreter tries the file, with the same result."""
    monkeypatch.setattr(child_module, "threads_here", lambda: 2)
    directory = op_directory_of(_directory(tmp_path, BAD + "def f(x):\n    time.sleep(60)\n"))
    assert [fact.remark.code for fact in ApiTrial(directory, 0.5).facts()] == ["PROJ021", "PROJ024"]


def test_nothing_to_try(tmp_path: Path) -> None:
    """A directory without an API file, or without definitions, starts no process."""
    path = _directory(tmp_path, GOOD)
    (path / "t_py_api.py").unlink()
    assert tried(discover([path])) == {os.path.realpath(path): []}
