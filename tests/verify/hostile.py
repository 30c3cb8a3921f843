"""Kernels that misbehave, as data: what each does, what its verdict may be, and how long it may take.

Each is the kernel of ``y = x * x`` with something in it. Holds no expectation about how opkit defends itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import dedent, indent

__all__ = ["ANY", "BAD", "HOSTILE", "PASS", "Hostile", "kernel_of"]

#: The kernel computes the right thing, so nothing may be said against it.
PASS = frozenset({"pass"})
#: It must be accused: some check fails, or cannot run because of it.
BAD = frozenset({"fail", "error"})
#: Either, as long as the verdict is about the kernel.
ANY = PASS | BAD
#: Anything but a pass.
NOT_PASS = BAD | {"undecided"}


@dataclass(frozen=True)
class Hostile:
    """One kernel.

    Args:
        name: of the op directory.
        body: statements in forward, before its return.
        may: statuses that are a fair verdict.
        result: what forward returns.
        back: statements in backward.
        grad: what backward returns.
        module: statements at the top level.
        timeout: seconds given to the op; the run must end within one second more, start-up aside.
        leaves: whether it writes the id of a process to the file ``pid`` beside it, which must not outlive the run.
        quick: whether ``make test`` runs it.
    """

    name: str
    body: str
    may: frozenset[str] = ANY
    result: str = "x * x"
    back: str = ""
    grad: str = "2 * x * dy"
    module: str = ""
    timeout: float = 10.0
    leaves: bool = False
    quick: bool = False


_HEAD = """import atexit
import builtins
import ctypes
import faulthandler
import gc
import itertools
import locale
import multiprocessing
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
DONE = []
# The process that imported this file. Only it may be signalled as a parent: an orphan's parent is a stranger.
LOADER = os.getpid()


def once():
    # True once for all processes: a fork in each copy of a process would have no end.
    try:
        os.close(os.open(os.path.join(HERE, "once"), os.O_CREAT | os.O_EXCL))
    except OSError:
        return False
    return True


def fewer_than(most):
    # True for so many calls of all processes together, give or take a few.
    with open(os.path.join(HERE, "calls"), "ab") as file:
        file.write(b".")
        return file.tell() <= most


def first():
    DONE.append(1)
    return len(DONE) == 1


def note(pid):
    with open(os.path.join(HERE, "pid"), "w") as file:
        file.write(str(pid))
"""


def kernel_of(row: Hostile) -> str:
    """Return the text of the kernel file."""
    parts = [_HEAD, dedent(row.module).strip() + "\n" if row.module else ""]
    for name, takes, body, value in (
        ("forward", "(x,)", row.body, row.result),
        ("backward", "(x, dy)", row.back, row.grad),
    ):
        inside = dedent(body).strip("\n")
        parts.append(f"\ndef {name}(args):\n    {takes} = args\n{indent(inside, '    ')}\n    return {value}\n")
    return "\n".join(part for part in parts if part)


H = Hostile

PROCESSES = (
    H(
        "fork_and_wait",
        "if once():\n    pid = os.fork()\n    if pid == 0:\n        os._exit(0)\n    os.waitpid(pid, 0)",
        PASS,
    ),
    H("fork_and_return", "if once():\n    os.fork()", quick=True),
    H("fork_on_each_call", "if fewer_than(24):\n    os.fork()", PASS, quick=True),
    H(
        "fork_asleep",
        "if once():\n    pid = os.fork()\n    if pid == 0:\n        time.sleep(20)\n        os._exit(0)\n    note(pid)",
        leaves=True,
        quick=True,
    ),
    H(
        "session_asleep",
        "if once():\n    pid = os.fork()\n    if pid == 0:\n        os.setsid()\n        time.sleep(20)\n        os._exit(0)\n    note(pid)",
        leaves=True,
        quick=True,
    ),
    H(
        "grandchild_asleep",
        """
      if once():
          pid = os.fork()
          if pid == 0:
              os.setsid()
              if os.fork() == 0:
                  note(os.getpid())
                  time.sleep(20)
              os._exit(0)
          os.waitpid(pid, 0)
          time.sleep(0.1)
      """,
        leaves=True,
        quick=True,
    ),
    H("fork_never_reaped", "if once() and os.fork() == 0:\n    os._exit(1)"),
    H("command_asleep", "if once():\n    note(subprocess.Popen(['sleep', '20']).pid)", leaves=True),
    H(
        "command_with_pipes",
        "if once():\n    note(subprocess.Popen(['sleep', '20'], close_fds=False).pid)",
        leaves=True,
    ),
    H(
        "command_in_session",
        "if once():\n    note(subprocess.Popen(['sleep', '20'], start_new_session=True).pid)",
        leaves=True,
    ),
    H("command_runs", "if once():\n    subprocess.run(['true'], check=True)", PASS),
    H(
        "shell_background",
        "if once():\n    os.system('sleep 20 & echo $! > ' + os.path.join(HERE, 'pid'))",
        leaves=True,
    ),
    H("pool", "if once():\n    with multiprocessing.get_context('fork').Pool(1) as pool:\n        pool.map(abs, [1])"),
    H(
        "process_asleep",
        "if once():\n    p = multiprocessing.get_context('fork').Process(target=time.sleep, args=(20,))\n    p.start()\n    note(p.pid)",
        leaves=True,
        timeout=4,
    ),
    H("kills_itself", "os.kill(os.getpid(), signal.SIGKILL)", BAD, quick=True),
    H("terminates_itself", "os.kill(os.getpid(), signal.SIGTERM)", BAD),
    H("interrupts_itself", "os.kill(os.getpid(), signal.SIGINT)", BAD),
    H(
        "kills_its_parent",
        "if once() and os.getppid() == LOADER:\n    os.kill(LOADER, signal.SIGKILL)\n    time.sleep(0.2)",
        ANY,
    ),
    H(
        "terminates_its_parent",
        "if once() and os.getppid() == LOADER:\n    os.kill(LOADER, signal.SIGTERM)\n    time.sleep(0.2)",
        ANY,
    ),
    H("stops_itself", "os.kill(os.getpid(), signal.SIGSTOP)", BAD, timeout=2),
    H("stops_its_parent", "if once() and os.getppid() == LOADER:\n    os.kill(LOADER, signal.SIGSTOP)", ANY, timeout=3),
    H("leads_a_session", "if once():\n    try:\n        os.setsid()\n    except OSError:\n        pass", PASS),
    H("becomes_another", "os.execv('/bin/true', ['true'])", BAD),
)
LEAVING = (
    H("aborts", "os.abort()", BAD),
    H("segfault", "ctypes.string_at(0)", BAD, quick=True),
    H("leaves_at_once", "os._exit(0)", BAD, quick=True),
    H("leaves_with_3", "os._exit(3)", BAD),
    H("exits", "sys.exit(0)", BAD),
    H("exits_with_words", "sys.exit('enough')", BAD),
    H("exits_in_backward", "", BAD, back="sys.exit(0)"),
    H("leaves_in_backward", "", BAD, back="os._exit(0)"),
    H(
        "exits_from_a_thread",
        "if first():\n    t = threading.Thread(target=os._exit, args=(0,))\n    t.start()\n    time.sleep(0.2)",
        BAD,
    ),
    H("exits_when_imported", "", BAD, module="sys.exit(0)"),
    H("leaves_when_imported", "", BAD, module="os._exit(0)"),
    H("aborts_when_imported", "", BAD, module="os.abort()"),
    H("raises_when_imported", "", BAD, module="raise KeyError('no')"),
)
EXCEPTIONS = (
    H(
        "cyclic_cause",
        "a, b = ValueError('a'), ValueError('b')\na.__cause__, b.__cause__ = b, a\nraise a",
        BAD,
        timeout=4,
        quick=True,
    ),
    H(
        "cyclic_context",
        "a, b = ValueError('a'), ValueError('b')\na.__context__, b.__context__ = b, a\nraise a",
        BAD,
        timeout=4,
    ),
    H(
        "message_raises",
        "raise Silent()",
        BAD,
        module="class Silent(Exception):\n    def __str__(self):\n        raise RuntimeError('no words')",
        quick=True,
    ),
    H(
        "message_and_name_raise",
        "raise Silent()",
        BAD,
        module="class Silent(Exception):\n    def __str__(self):\n        raise RuntimeError\n    __repr__ = __str__",
    ),
    H(
        "message_exits",
        "raise Leaving()",
        BAD,
        module="class Leaving(Exception):\n    def __str__(self):\n        sys.exit(0)",
    ),
    H(
        "message_hangs",
        "raise Slow()",
        BAD,
        module="class Slow(Exception):\n    def __str__(self):\n        time.sleep(60)",
        timeout=2,
    ),
    H("message_no_text", "raise Odd()", BAD, module="class Odd(Exception):\n    def __str__(self):\n        return 7"),
    H("message_huge", "raise ValueError('x' * 20_000_000)", BAD),
    H("message_surrogates", "raise ValueError('\\udc80 \\x00 \\x1b[2J')", BAD),
    H("cannot_be_pickled", "error = ValueError('no')\nerror.held = lambda: 0\nraise error", BAD),
    H(
        "cannot_be_rebuilt",
        "raise Needs(1, 2)",
        BAD,
        module="class Needs(Exception):\n    def __init__(self, a, b):\n        super().__init__('needs two')",
    ),
    H("class_in_function", "class Local(Exception):\n    pass\nraise Local('here')", BAD),
    H("base_exception", "raise Own('own')", BAD, module="class Own(BaseException):\n    pass", quick=True),
    H("keyboard_interrupt", "raise KeyboardInterrupt", BAD),
    H("generator_exit", "raise GeneratorExit", BAD),
    H("stop_iteration", "raise StopIteration", BAD),
    H("memory_error", "raise MemoryError", BAD),
    H("own_exit", "raise Own(0)", BAD, module="class Own(SystemExit):\n    pass"),
    H("recursion", "def deeper(n):\n    return deeper(n + 1)\ndeeper(0)", BAD),
    H(
        "recursion_without_limit",
        "sys.setrecursionlimit(10**9)\ndef deeper(n):\n    return deeper(n + 1) + len(repr(n))\ndeeper(0)",
        BAD,
        timeout=6,
    ),
    H("raises_in_backward", "", BAD, back="raise ValueError('no')"),
    H("traceback_cut", "raise ValueError('no').with_traceback(None)", BAD),
    H("many_notes", "error = ValueError('no')\nerror.__notes__ = 7\nraise error", BAD),
    H("compiled_elsewhere", "exec(compile('raise ValueError(1)', '<nowhere>', 'exec'))", BAD),
)
DESCRIPTORS = (
    H("closes_stdin", "if first():\n    os.closerange(0, 1)", PASS),
    H("closes_stdout", "if first():\n    os.closerange(1, 2)", PASS),
    H("closes_stderr", "if first():\n    os.closerange(2, 3)", PASS),
    H("closes_the_rest", "if first():\n    os.closerange(3, 256)", BAD | {"undecided"}, quick=True),
    H(
        "redirects_the_rest",
        "if first():\n    null = os.open(os.devnull, os.O_RDWR)\n    for fd in range(3, 64):\n        if fd != null:\n            os.dup2(null, fd)",
        ANY,
        timeout=4,
    ),
    H(
        "writes_to_the_rest",
        "if first():\n    for fd in range(3, 64):\n        try:\n            os.write(fd, b'\\x80garbage' * 9)\n        except OSError:\n            pass",
        ANY,
        timeout=4,
    ),
    H("floods_stdout", "print('flood ' * 5000)", PASS),
    H("floods_stderr", "os.write(2, b'flood ' * 5000)", PASS),
    H("prints_json", 'print(\'{"schema": 1, "ops": []}\', flush=True)', PASS),
    H("reads_stdin", "sys.stdin.read()", ANY, timeout=3),
    H("reads_descriptor_0", "os.read(0, 10)", ANY, timeout=3),
    H("asks", "input('why? ')", ANY, timeout=3),
    H("stdout_gone", "sys.stdout = None\nsys.stderr = None", PASS),
    H("stdout_closed", "if first():\n    sys.stdout.close()\n    sys.stderr.close()", PASS),
    H("no_more_files", "resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))", ANY),
)
_WRONG = "-7 * x * dy"
MEMORY = (
    H("flag_set", "y = x * x\nx.flags.writeable = True\nx[...] = 0", BAD, "y", quick=True),
    H("flag_set_and_wrong", "y = x * x\nx.flags.writeable = True\nx[...] = 0", BAD, "y", grad=_WRONG),
    H(
        "base_walked",
        "y = x * x\nb = x\nwhile isinstance(b.base, np.ndarray):\n    b = b.base\nb.flags.writeable = True\nb[...] = 0",
        BAD,
        "y",
        grad=_WRONG,
        quick=True,
    ),
    H("memory_set", "y = x * x\nctypes.memset(x.ctypes.data, 0, x.nbytes)", BAD, "y", quick=True),
    H("memory_set_and_wrong", "y = x * x\nctypes.memset(x.ctypes.data, 0, x.nbytes)", BAD, "y", grad=_WRONG),
    H("memory_of_dy", "", BAD, "x * x", "g = 2 * x * dy\nctypes.memset(dy.ctypes.data, 0, dy.nbytes)", "g"),
    H("memory_of_x_in_backward", "", BAD, "x * x", "g = 2 * x * dy\nctypes.memset(x.ctypes.data, 0, x.nbytes)", "g"),
    H(
        "interface_forged",
        "y = x * x\nh = type('H', (), {'__array_interface__': {**x.__array_interface__, 'data': (x.ctypes.data, False)}})()\nnp.asarray(h)[...] = 0",
        BAD,
        "y",
    ),
    H(
        "frames_walked",
        """
      y = x * x
      frame = sys._getframe(1)
      while frame is not None:
          for value in list(frame.f_locals.values()):
              if isinstance(value, np.ndarray) and value.flags.writeable and value.dtype.kind == "f":
                  value[...] = 0
          frame = frame.f_back
      """,
        NOT_PASS,
        "y",
        grad=_WRONG,
    ),
    H("results_changed_later", "y = x * x\nDONE.append(y)\nfor old in DONE[:-1]:\n    old[...] = 0", BAD, "y"),
    H("memory_hog", "held = [np.ones(10**8) for _ in range(100)]", BAD),
    H("memory_hog_in_python", "held = []\nwhile True:\n    held.append('x' * 10**7 + str(len(held)))", BAD),
    H("array_too_large", "np.ones((10**6, 10**7))", BAD),
)
GLOBALS = (
    H("numpy_errors_raise", "np.seterr(all='raise')", BAD, quick=True),
    H("numpy_errors_call", "np.seterrcall(sys.exit)\nnp.seterr(all='call')", BAD),
    H("print_options", "np.set_printoptions(threshold=1, formatter={'all': lambda v: 1 / 0})", PASS),
    H("warnings_are_errors", "warnings.simplefilter('error')", PASS),
    H(
        "signals_ignored",
        "for number in (signal.SIGTERM, signal.SIGINT, signal.SIGALRM, signal.SIGHUP):\n    signal.signal(number, signal.SIG_IGN)",
        PASS,
    ),
    H("alarm", "signal.setitimer(signal.ITIMER_REAL, 0.01)\ntime.sleep(0.1)", BAD),
    H("elsewhere", "os.chdir('/')", PASS),
    H(
        "nowhere",  # once, while there is a folder to leave: on a busy disk each of these takes milliseconds
        "try:\n    os.getcwd()\nexcept OSError:\n    pass\n"
        "else:\n    folder = tempfile.mkdtemp()\n    os.chdir(folder)\n    os.rmdir(folder)",
        PASS,
    ),
    H("environment_empty", "os.environ.clear()", PASS),
    H(
        "recursion_limit",
        "sys.setrecursionlimit(sys.getrecursionlimit())\ntry:\n    sys.setrecursionlimit(90)\nexcept RecursionError:\n    pass",
        ANY,
    ),
    H(
        "modules_dropped",
        "for name in ('json', 'pickle', 'traceback', 'inspect', 'numpy'):\n    sys.modules.pop(name, None)",
        ANY,
    ),
    H("path_empty", "sys.path.clear()", PASS),
    H("builtins_changed", "builtins.open = None\nbuiltins.print = None\nbuiltins.sorted = None", BAD),
    H("numpy_changed", "np.asarray = None\nnp.isfinite = None\nnp.array_equal = None", BAD),
    H("equal_is_true", "np.array_equal = lambda *a, **k: True\nnp.allclose = lambda *a, **k: True", BAD, grad=_WRONG),
    H("clock_stands", "time.perf_counter = time.monotonic = time.time = lambda: 0.0", ANY),
    H("clock_jumps", "time.perf_counter = time.monotonic = itertools.count(0, 1000).__next__", ANY),
    H("exit_changed", "os._exit = sys.exit = lambda *a: None", PASS),
    H("seeds", "np.random.seed(0)\nrandom.seed(0)", ANY),
    H("locale_changed", "try:\n    locale.setlocale(locale.LC_ALL, '')\nexcept locale.Error:\n    pass", PASS),
    H("no_collection", "gc.disable()\ngc.freeze()", PASS),
    H("collector_raises", "gc.callbacks.append(lambda *a: 1 / 0)", ANY),
    H("traced", "sys.settrace(lambda *a: None)\nsys.setprofile(lambda *a: None)", PASS),
    H("trace_raises", "def raising(*a):\n    raise ValueError('traced')\nsys.setprofile(raising)", ANY),
    H("exit_hook_sleeps", "if first():\n    atexit.register(time.sleep, 20)", PASS, quick=True),
    H("exit_hook_raises", "if first():\n    atexit.register(sys.exit, 9)", PASS),
    H("watchdog", "faulthandler.dump_traceback_later(0.05, exit=True)\ntime.sleep(0.2)", BAD),
    H("fault_handler_off", "faulthandler.disable()", PASS),
    H("excepthook_exits", "sys.excepthook = lambda *a: os._exit(0)\nraise ValueError('no')", BAD),
    H("own_folder_removed", "shutil.rmtree(HERE, ignore_errors=True)", ANY),
    H("own_kernel_changed", "with open(__file__, 'a') as file:\n    file.write('# again\\n')", PASS),
    H("core_limits", "resource.setrlimit(resource.RLIMIT_CPU, (1, 1))\nwhile True:\n    pass", BAD, timeout=4),
    H("thread_asleep", "if first():\n    threading.Thread(target=time.sleep, args=(20,)).start()", PASS, quick=True),
    H(
        "thread_busy",
        "if first():\n    threading.Thread(target=lambda: [None for _ in iter(int, 1)], daemon=True).start()",
        ANY,
        timeout=6,
    ),
    H("thread_raises", "threading.Thread(target=lambda: 1 / 0).start()", PASS),
    H(
        "many_threads",
        "if first():\n    for _ in range(50):\n        threading.Thread(target=time.sleep, args=(20,), daemon=True).start()",
        ANY,
    ),
    H(
        "raises_when_freed",
        "Loud()",
        PASS,
        module="class Loud:\n    def __del__(self):\n        raise ValueError('freed')",
    ),
)
RESULTS = (
    H("structured", "", BAD, "np.zeros(x.shape, [('a', 'f8'), ('b', 'i4')])", quick=True),
    H("objects", "", BAD, "(x * x).astype(object)"),
    H("objects_nested", "", BAD, "np.array([x, None, 'a'], dtype=object)"),
    H("strings", "", BAD, "np.full(x.shape, 'a')"),
    H("dates", "", BAD, "np.zeros(x.shape, 'M8[s]')"),
    H("complex_numbers", "", BAD, "(x * x).astype(complex)"),
    H("half_precision", "", BAD, "(x * x).astype('float16')"),
    H("swapped_bytes", "", ANY, "(x * x).astype(x.dtype.newbyteorder())"),
    H("masked", "", ANY | {"undecided"}, "np.ma.masked_array(x * x, x > 0)"),
    H("matrix", "", ANY | {"undecided"}, "np.atleast_2d(x * x).view(np.matrix) if x.ndim == 2 else x * x"),
    H("subclass", "", ANY, "(x * x).view(Own)", module="class Own(np.ndarray):\n    pass"),
    H(
        "subclass_that_lies",
        "",
        ANY,
        "(x * x).view(Own)",
        module="class Own(np.ndarray):\n    def __array_ufunc__(self, *a, **k):\n        raise RuntimeError('no')\n    def __eq__(self, other):\n        return True\n    def __getitem__(self, at):\n        raise RuntimeError('no')",
    ),
    H(
        "array_like_that_raises",
        "",
        BAD,
        "Like()",
        module="class Like:\n    def __array__(self, *a, **k):\n        raise RuntimeError('no')",
    ),
    H(
        "array_like_that_exits",
        "",
        BAD,
        "Like()",
        module="class Like:\n    def __array__(self, *a, **k):\n        os._exit(0)",
    ),
    H("lists", "", BAD, "(x * x).tolist()"),
    H("list_of_itself", "whole = []\nwhole.append(whole)", BAD, "whole"),
    H("no_result", "", BAD, "None", quick=True),
    H("a_string", "", BAD, "'result'"),
    H("a_dict", "", BAD, "{'y': x * x}"),
    H("a_generator", "", BAD, "(v for v in [x * x])"),
    H("an_endless_iterator", "", BAD, "itertools.count()", timeout=4),
    H("a_class", "", BAD, "Hidden", module="class Hidden:\n    pass"),
    H("two_for_one", "", BAD, "[x * x, x]"),
    H("none_for_one", "", BAD, "[]"),
    H("wrong_length", "", BAD, "np.concatenate([(x * x).ravel(), [1.0]])"),
    H("huge_view", "", BAD, "np.broadcast_to(np.float64(1), (10**6, 10**6))", timeout=6),
    H("not_a_number", "", NOT_PASS | {"skip"}, "x * np.nan"),
    H("infinite", "", NOT_PASS | {"skip"}, "x * x + np.inf"),
    H("read_only", "", PASS, "np.broadcast_to(x * x, x.shape)"),
    H("fortran_order", "", PASS, "np.asfortranarray(x * x) if x.ndim else x * x"),
    H("gradient_structured", "", BAD, grad="np.zeros(x.shape, [('a', 'f8')])"),
    H("gradient_none", "", BAD, grad="None"),
    H("gradient_lists", "", BAD, grad="(2 * x * dy).tolist()"),
    H("gradient_masked_and_wrong", "", BAD, grad="np.ma.masked_array(-7 * x * dy, np.ones(x.shape, bool))"),
)
TIME = (
    H("endless", "while True:\n    pass", BAD, timeout=2, quick=True),
    H("asleep", "time.sleep(1000)", BAD, timeout=2),
    H("endless_in_backward", "", BAD, back="while True:\n    pass", timeout=2),
    H("endless_when_imported", "", BAD, module="while True:\n    pass", timeout=2),
    H("endless_later", "first()\nwhile len(DONE) > 20:\n    pass", BAD, timeout=3),
    H("endless_in_c", "re.match('(a+)+$', 'a' * 60 + 'b')", BAD, timeout=2, quick=True),
    H("endless_number", "len(str(10 ** 10 ** 9))", BAD, timeout=2),
    H(
        "catches_everything",
        "while True:\n    try:\n        while True:\n            pass\n    except BaseException:\n        pass",
        BAD,
        timeout=2,
    ),
    H(
        "signals_blocked",
        "signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 32))\nwhile True:\n    pass",
        BAD,
        timeout=2,
    ),
    H("deadlock", "lock = threading.Lock()\nlock.acquire()\nlock.acquire()", BAD, timeout=2),
    H("slow", "time.sleep(0.3)", ANY, timeout=3, quick=True),
    H("slow_and_wrong", "time.sleep(0.02)", BAD, grad=_WRONG, timeout=5),
    H("slower_and_slower", "DONE.append(1)\ntime.sleep(0.001 * len(DONE))", ANY, timeout=4),
    H(
        "endless_with_children",
        "if once():\n    pid = os.fork()\n    if pid == 0:\n        os.setsid()\n        time.sleep(20)\n        os._exit(0)\n    note(pid)\nwhile True:\n    pass",
        BAD,
        timeout=2,
        leaves=True,
    ),
)

#: All of them.
HOSTILE: tuple[Hostile, ...] = (
    *PROCESSES,
    *LEAVING,
    *EXCEPTIONS,
    *DESCRIPTORS,
    *MEMORY,
    *GLOBALS,
    *RESULTS,
    *TIME,
)
