"""``opkit run`` behaves as ``python job.py`` does: compared with the interpreter itself, run on the same script."""

import errno
import re
import subprocess
import sys
from pathlib import Path

import pytest

from opkit.cli.profile import profiled
from opkit.cli.report_file import write_report

SCRIPTS = {
    "identity": """
        import sys
        print(__name__, __file__, __package__, __spec__, __doc__, sys.argv, sys.path[0])
        print(sys.modules["__main__"].__dict__ is globals())
        """,
    "docstring": '''
        """The script's own."""
        print(__doc__)
        ''',
    "sibling import": """
        import neighbour
        print(neighbour.WORD)
        """,
    "exit number": "import sys; sys.exit(7)",
    "exit text": "import sys; sys.exit('told so')",
    "exit nothing": "import sys; sys.exit()",
    "exit true": "raise SystemExit(True)",
    "stdin": "print(input().upper())",
    "future annotations stay out": """
        def f(x: 1 + 1): pass
        print(f.__annotations__)
        """,
    "dataclass and pickle": """
        import pickle
        from dataclasses import dataclass
        @dataclass
        class Point:
            x: "int"
        print(pickle.loads(pickle.dumps(Point(3))))
        """,
    "excepthook": """
        import sys
        sys.excepthook = lambda kind, value, trace: print("hooked", kind.__name__, value, trace.tb_lineno)
        raise ValueError("no")
        """,
    "atexit": """
        import atexit
        atexit.register(lambda: print("bye"))
        print("hello")
        """,
    "thread": """
        import threading, time
        def late():
            time.sleep(0.1)
            import colorsys
            print(colorsys.__name__)
        threading.Thread(target=late).start()
        """,
    "warnings": "import warnings; warnings.warn('careful')",
}
FAILURES = {
    "uncaught": "def f():\n    raise ValueError('no')\nf()\n",
    "chained": "try:\n    1 / 0\nexcept ZeroDivisionError as error:\n    raise KeyError('k') from error\n",
    "in context": "try:\n    1 / 0\nexcept ZeroDivisionError:\n    {}['k']\n",
    "syntax": "x = 1\ny = = 2\n",
    "misspelt attribute": "class A:\n    total = 1\nA().totl\n",
    "misspelt name": "def f():\n    value = 1\n    return valeu\nf()\n",
    "a name like no other": "qqqqqqq\n",
    "missing module": "import no_such_module_at_all\n",
    "in a library": "import json\njson.loads('{')\n",
    "recursion": "def f(): return f()\nimport sys\nsys.setrecursionlimit(60)\nf()\n",
}


def script(folder: Path, text: str) -> str:
    """Write a script, indented as it stands above, and a module beside it."""
    lines = text.strip("\n").splitlines()
    indent = min(len(line) - len(line.lstrip()) for line in lines if line.strip())
    (folder / "job.py").write_text("\n".join(line[indent:] for line in lines) + "\n")
    (folder / "neighbour.py").write_text("WORD = 'beside'\n")
    return "job.py"


def both(folder: Path, *argv: str, **options: object) -> tuple[subprocess.CompletedProcess, ...]:
    """Run a command line under the interpreter and under opkit."""
    commands = ([sys.executable, *argv], [sys.executable, "-m", "opkit", "run", *argv])
    return tuple(
        subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=1200, **options)
        for command in commands
    )


@pytest.mark.parametrize("name", SCRIPTS)
def test_same_as_python(name: str, tmp_path: Path) -> None:
    """Output, errors and exit status are the interpreter's."""
    python, opkit = both(tmp_path, script(tmp_path, SCRIPTS[name]), "a", "--help", "-x", "b c", input="typed\n")
    assert opkit.stdout == python.stdout
    assert opkit.stderr == python.stderr
    assert opkit.returncode == python.returncode


@pytest.mark.parametrize("name", FAILURES)
def test_same_traceback(name: str, tmp_path: Path) -> None:
    """A traceback names the script's frames, and none of opkit's; the exit status is 1."""
    (tmp_path / "job.py").write_text(FAILURES[name])
    python, opkit = both(tmp_path, "job.py")
    # How deep a recursion gets under one limit depends on the frames below the script.
    assert re.sub(r"repeated \d+", "repeated", opkit.stderr) == re.sub(r"repeated \d+", "repeated", python.stderr)
    assert opkit.returncode == python.returncode == 1


def test_a_misspelt_tensor_method_offers_the_nearest(tmp_path: Path) -> None:
    """A method that neither Paddle nor opkit has is told with the nearest one; one that Paddle has says so."""
    (tmp_path / "job.py").write_text("import paddle\npaddle.ones([1]).summ()\n")
    run = subprocess.run([sys.executable, "-m", "opkit", "run", "job.py"], cwd=tmp_path, capture_output=True, text=True)
    assert "'Tensor' object has no attribute 'summ'. Did you mean: 'sum'?" in run.stderr
    (tmp_path / "job.py").write_text("import paddle\npaddle.ones([1]).is_sparse_coo()\n")
    run = subprocess.run([sys.executable, "-m", "opkit", "run", "job.py"], cwd=tmp_path, capture_output=True, text=True)
    assert "opkit has no Tensor.is_sparse_coo (Paddle 2.6 has it)" in run.stderr
    assert "did you mean Tensor.is_sparse" in run.stderr


def test_a_with_that_is_refused_shows_the_users_line_last(tmp_path: Path) -> None:
    """Between the user's ``with`` and the refusal no frame of opkit's or of contextlib's is shown."""
    (tmp_path / "job.py").write_text('import oneflow as flow\n\nwith flow.scope.placement("gpu", "0:0"):\n    pass\n')
    _, opkit = both(tmp_path, "job.py")
    frames = re.findall(r'File "([^"]*)", line (\d+)', opkit.stderr)
    assert frames == [(str(tmp_path / "job.py"), "3")]
    assert "opkit run --gpu-as-cpu JOB.py" in opkit.stderr


def test_a_with_of_opkits_that_raises_hides_contextlib(tmp_path: Path) -> None:
    """A context manager of opkit's that raises in its block's place shows the user's line alone."""
    (tmp_path / "job.py").write_text("import paddle\n\nwith paddle.static.program_guard(3):\n    pass\n")
    _, opkit = both(tmp_path, "job.py")
    assert "contextlib" not in opkit.stderr
    assert "line 3" in opkit.stderr


def test_path_as_given(tmp_path: Path) -> None:
    """``sys.argv[0]`` is the path as given, ``sys.path[0]`` the folder that a symbolic link leads to."""
    (tmp_path / "deep").mkdir()
    script(tmp_path / "deep", SCRIPTS["identity"])
    (tmp_path / "link.py").symlink_to(tmp_path / "deep" / "job.py")
    for path in ("deep/job.py", "./deep/../link.py"):
        python, opkit = both(tmp_path, path)
        assert (opkit.stdout, opkit.returncode) == (python.stdout, python.returncode)


def test_missing_script(tmp_path: Path) -> None:
    """A missing script is exit status 2, as under the interpreter, and one line that names it."""
    python, opkit = both(tmp_path, "nowhere.py")
    assert opkit.returncode == python.returncode == 2
    assert opkit.stderr == "error: cannot run 'nowhere.py': no such file\n"


def test_options_before_the_script_are_opkits(tmp_path: Path) -> None:
    """What stands after the script belongs to the script, even where opkit has such an option."""
    job = script(tmp_path, "import sys; print(sys.argv[1:])")
    ran = subprocess.run(
        [sys.executable, "-m", "opkit", "run", "--gpu-as-cpu", job, "--profile"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout == "['--profile']\n"


JOB = """
import numpy as np
import paddle

x = paddle.to_tensor(np.ones(3, "float32"))
for _ in range(4):
    x = paddle.tanh(x)
print(x.shape)
"""


def test_profile(tmp_path: Path) -> None:
    """--profile shows each op with its number of calls, on standard error alone; --report writes it as a page too."""
    (tmp_path / "job.py").write_text(JOB)
    ran = subprocess.run(
        [sys.executable, "-m", "opkit", "run", "--profile", "--report", "html=p.html", "--report", "json=no/p", "job.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 2
    assert ran.stdout == "[3]\n"
    assert re.search(r"^tanh +4 ", ran.stderr, re.MULTILINE)
    assert ">tanh<" in (tmp_path / "p.html").read_text()
    assert "cannot write 'no/p': there is no folder 'no'" in ran.stderr


def test_a_report_that_does_not_fit_on_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is an exit status of its own, as a missing folder is; the other reports are written."""

    def write(path: Path, text: str) -> None:
        if path.name == "full.json":
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        write_report(path, text)

    monkeypatch.setattr("opkit.cli.profile.write_report", write)
    names = ("full.json", "no/folder.json", "some.json")
    with profiled(reports=[("json", tmp_path / name) for name in names]) as unwritten:
        pass
    assert unwritten == [1, 2]
    assert "full.json': No space left on device" in capsys.readouterr().err
    assert (tmp_path / "some.json").is_file()


def test_profile_of_a_script_in_debug_mode(tmp_path: Path) -> None:
    """A script that switches debug mode on, and trains, is profiled: ops, PyLayers both ways, optimizers."""
    (tmp_path / "job.py").write_text(
        "import numpy as np\nimport oneflow\nimport paddle\n\noneflow.config.enable_debug_mode(True)\n"
        "class Double(paddle.autograd.PyLayer):\n"
        "    @staticmethod\n    def forward(ctx, x):\n        return paddle.to_tensor(2 * x.numpy())\n"
        "    @staticmethod\n    def backward(ctx, dy):\n        return paddle.to_tensor(2 * dy.numpy())\n"
        "w = paddle.create_parameter([2], 'float32')\n"
        "adam = paddle.optimizer.Adam(parameters=[w])\n"
        "for _ in range(3):\n    paddle.tanh(Double.apply(w)).sum().backward()\n    adam.step()\n"
    )
    ran = subprocess.run(
        [sys.executable, "-m", "opkit", "run", "--profile", "job.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    for name in ("Double", "Double_backward", "tanh", r"\S*adam\S*"):
        assert re.search(rf"^{name} +3 ", ran.stderr, re.MULTILINE), name


def test_show_plan(tmp_path: Path) -> None:
    """--show-plan shows the Python of a compiled plan, on standard error alone."""
    (tmp_path / "job.py").write_text(
        "import numpy as np\nimport paddle\n\npaddle.enable_static()\n"
        "x = paddle.static.data(name='x', shape=[2], dtype='float32')\ny = paddle.tanh(x)\n"
        "exe = paddle.static.Executor()\n"
        "print(exe.run(feed={'x': np.zeros(2, 'float32')}, fetch_list=[y])[0])\n"
    )
    ran = subprocess.run(
        [sys.executable, "-m", "opkit", "run", "--show-plan", "job.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout == "[0. 0.]\n"
    assert "# plan: 1 op, 0 constants, 0 buffers in 0 bytes, fed x, for these sizes\n" in ran.stderr
    assert "def run(" in ran.stderr


def test_interrupt(tmp_path: Path) -> None:
    """An interrupted script ends with status 130 and its traceback."""
    (tmp_path / "job.py").write_text("raise KeyboardInterrupt\n")
    _, opkit = both(tmp_path, "job.py")
    assert opkit.returncode == 130
    assert opkit.stderr.endswith("KeyboardInterrupt\n")


def test_all_frames_on_request(tmp_path: Path) -> None:
    """OPKIT_TRACEBACK=full shows opkit's own frames too."""
    (tmp_path / "job.py").write_text("1 / 0\n")
    ran = subprocess.run(
        [sys.executable, "-m", "opkit", "run", "job.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env={"OPKIT_TRACEBACK": "full", "PATH": ""},
    )
    assert "exec_script" in ran.stderr


def test_names_of_numpy_1_can_be_had(tmp_path: Path) -> None:
    """Without the option the script stops as under python, with a help line; with it the script runs."""
    (tmp_path / "job.py").write_text("import numpy as np\nprint(np.float(1), np.product([2, 3]))\n")
    python, opkit = both(tmp_path, "job.py")
    assert opkit.returncode == python.returncode == 1
    # Which near name is suggested is for each version of Python to say.
    assert opkit.stderr.startswith(python.stderr.rstrip().partition("Did you mean")[0])
    assert "help: `opkit run --numpy1-names JOB.py`" in opkit.stderr
    command = [sys.executable, "-m", "opkit", "run", "--numpy1-names", "job.py"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert (run.returncode, run.stdout) == (0, "1.0 6\n"), run.stderr
