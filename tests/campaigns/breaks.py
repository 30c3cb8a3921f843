"""Each promise of docs/reliability.md is broken once, and its test must fail; a campaign, not part of the tests.

``python -m tests.campaigns.breaks [WORD...]``: the promises whose description holds one of the words, or all. Each break is
one change in a copy of the tree. Prints a row for each, and exits with 1 where a test does not notice, or where the
text that is to be changed is not there any more.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

__all__ = ["BREAKS", "Break", "main"]

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Break:
    """A promise, and how it is broken.

    Args:
        promise: in few words.
        file: below opkit/.
        old, new: a text that occurs there once, and what it becomes.
        test: what pytest runs.
    """

    promise: str
    file: str
    old: str
    new: str
    test: str


BREAKS = (
    Break("saved programs: only allowed functions", "static/functions.py",
          "        if found is None:\n            _refuse(path, module)", "        if found is None:\n            found = getattr(_imported(module), name)",
          "tests/static/test_trust.py"),
    Break("pickles: names of code are refused", "foreign/machine.py",
          "        if make is None:", "        if make is None:\n            make = getattr(__import__(module), name, None)\n        if make is None:",
          "tests/foreign/test_pickled.py"),
    Break("files: devices and pipes are not read", "foreign/files.py",
          "if not stat.S_ISREG(status.st_mode):", "if False:", "tests/foreign/test_archive.py"),
    Break("files: size is bounded", "foreign/files.py", "if status.st_size > bound:", "if False:", "tests/foreign/test_archive.py"),
    Break("files: pipes are not waited for", "foreign/files.py", 'getattr(os, "O_NONBLOCK", 0)', "0",
          "tests/foreign/test_archive.py::test_a_pipe_is_not_waited_for"),
    Break("checkpoints: sizes are compared first", "oneflow/semantics/checkpoint.py",
          "raw = read_file(file, expected) if size == expected else b\"\"", "raw = read_file(file, expected) + bytes(expected)",
          "tests/oneflow/test_checkpoint.py"),
    Break("checkpoints: checksums", "oneflow/semantics/checkpoint.py",
          "if checksum is not None and zlib.crc32(raw) != checksum:", "if False:", "tests/oneflow/test_checkpoint.py"),
    Break("configuration: nested values", "configuration/document.py", "        except RecursionError:", "        except ZeroDivisionError:",
          "tests/configuration"),
    Break("formulas: large numbers", "formula/bounds.py", "        if size * bits > _MOST_BITS:", "        if False:", "tests/formula/test_bounds.py::test_what_would_not_end_is_refused[2**-2000 * x]"),
    Break("graph: looking for shapes ends", "cli/graphs.py", "if time.process_time() > end:", "if False:",
          "tests/cli/test_graph.py::test_looking_for_shapes_ends"),
    Break("reading commands run no Python", "cli/graph.py", "runs_python=False", "runs_python=True", "tests/cli/test_what_runs.py"),
    Break("a kill leaves old or new: one file", "atomic.py", "        os.replace(scratch.path, full)", "        if os.path.exists(full):\n            os.remove(full)\n        os.replace(scratch.path, full)",
          "tests/faults/test_kills.py"),
    Break("a kill leaves old or new: several files", "atomic.py",
          '            os.rename(scratch.path, top / f".{label}{_DONE}")',
          '            for name in files:\n                (top / name).parent.mkdir(parents=True, exist_ok=True)\n                os.replace(Path(scratch.path, name), top / name)',
          "tests/faults/test_kills.py"),
    Break("what a dead run left is removed", "scratch.py", '    if sys.platform == "win32":\n        return\n    with contextlib.suppress(OSError), os.scandir',
          '    if sys.platform:\n        return\n    with contextlib.suppress(OSError), os.scandir', "tests/faults/test_kills.py"),
    Break("what a live run holds stays", "scratch.py", "        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)\n        if os.path.isdir(path):",
          "        if os.path.isdir(path):", "tests/test_atomic.py"),
    Break("racing saves do not fail", "scratch.py", "        while not _lock(handle):", "        while False:", "tests/faults/test_races.py"),
    Break("readers see one save", "oneflow/semantics/checkpoint.py", "            is_whole = bool(sums) and", "            is_whole =",
          "tests/oneflow/test_checkpoint.py"),
    Break("nothing is written outside: planted saves", "atomic.py",
          "if name and not os.path.isabs(name) and \"..\" not in Path(name).parts", "if name", "tests/test_atomic.py"),
    Break("nothing is written outside: links", "atomic.py",
          "        if part != Path() and (folder.is_symlink() or", "        if False and (folder.is_symlink() or", "tests/cli/test_links.py"),
    Break("hostile text is shown", "diagnostics/render.py",
          '    return "".join(c if c.isprintable() or c == "\\n" else _shown(c) for c in text)', "    return text",
          "tests/reporters/test_hostile_text.py"),
    Break("a full disk is one message", "cli/ends.py", "    except OSError as error:\n        # A full disk", "    except ZeroDivisionError as error:\n        # A full disk",
          "tests/cli/test_streams.py"),
    Break("a vanished folder is one message", "cli/ends.py", "    except OSError as error:\n        raise UsageError(\"the working", "    except ZeroDivisionError as error:\n        raise UsageError(\"the working",
          "tests/cli/test_streams.py"),
    Break("verdicts do not depend on the process", "checker/model/draws.py", "np.random.PCG64(_known(key))", "np.random.PCG64(hash(str(key)) % 2**32)",
          "tests/verify/test_same_verdicts.py"),
    Break("numbers at the edges", "ops/linear/inversion.py", "    except np.linalg.LinAlgError as reason:", "    except ZeroDivisionError as reason:",
          "tests/ops/test_stress.py"),
    Break("SIGTERM ends with 143", "signals.py", "before = signal.signal(signal.SIGTERM, _terminate)", "before = signal.getsignal(signal.SIGTERM)",
          "tests/cli/test_signals.py"),
    Break("no network", "__main__.py", "    fill_closed()\n    if", "    fill_closed()\n    __import__('socket').socket().connect_ex(('127.0.0.1', 9))\n    if",
          "tests/docs/test_readme.py::test_tour"),
    Break("pickles: memory is in proportion to the file", "foreign/machine.py", "if self.spent[what] > len(self.data):", "if False:",
          "tests/foreign/test_pickled.py"),
    Break("arrays: numpy does not parse a dtype's text", "foreign/array.py",
          "if int(size) not in _SIZES.get(kind, range(1, _LONGEST_TEXT)):", "if found is None:\n        return np.dtype(descr)\n    if False:",
          "tests/foreign"),
    Break("definitions: what runs is counted", "spec/runtime/arithmetic.py",
          "        if steps > MOST_STEPS:\n            raise FatalError(f\"more than {MOST_STEPS:,} loop iterations and function calls; does this recursion",
          "        if steps > 40 * MOST_STEPS:\n            raise FatalError(f\"more than {MOST_STEPS:,} loop iterations and function calls; does this recursion",
          "tests/spec/test_bounds.py::test_what_multiplies_while_running"),
    Break("definitions: tokens are counted", "spec/text/expansion.py", "    if state.made > MOST_MADE:", "    if False:",
          "tests/spec/test_bounds.py"),
    Break("formulas: what is nested too deep when put in", "formula/bounds.py", "    except RecursionError:", "    except ZeroDivisionError:",
          "tests/formula/test_bounds.py::test_what_uses_up_stack_or_memory_is_ended"),
    Break("formulas: deriving ends", "formula/bounds.py", "ITIMER_VIRTUAL, MOST_SECONDS, _AGAIN)", "ITIMER_VIRTUAL, 30 * MOST_SECONDS, _AGAIN)",
          "tests/formula/test_bounds.py::test_what_does_not_end_is_ended"),
    Break("options: numbers that cannot be meant", "verify/options.py", "if not value >= 0:", "if value < 0:",
          "tests/verify/test_options.py"),
    Break("graph: large ones are drawn", "cli/svg.py", "if bends <= _MOST_BENDS else []", "if bends else []", "tests/cli/test_pictures.py"),
    Break("--spec-only runs no Python", "cli/building.py", "runs_python=False", "runs_python=True", "tests/cli/test_what_runs.py"),
    Break("a page shows text as text", "reporters/layout.py", "        autoescape=True,", "        autoescape=False,",
          "tests/reporters/test_hostile_text.py"),
    Break("annotations show text as text", "reporters/github.py", '.replace("%", "%25").replace("\\n", "%0A")', "",
          "tests/reporters/test_hostile_text.py"),
    Break("a kill leaves old or new: export", "cli/export.py",
          "    write_together(path.parent, path.name, {path.name: made.text.encode(), test.name: made.test.encode()})",
          "    for name, text in ((path.name, made.text), (test.name, made.test)):\n        write_together(path.parent, name, {name: text.encode()})",
          "tests/faults/test_kills.py"),
    Break("nothing is written outside: --fix", "cli/building.py", "if directory.spec.is_symlink():", "if False:", "tests/cli/test_links.py"),
    Break("a full disk is not a mistake of usage", "project/workflow.py", "if is_fault_of_disk(error):", "if False:",
          "tests/cli/test_streams.py::test_a_full_disk_is_not_a_mistake_of_usage"),
    Break("what cannot be written is named", "atomic.py", "        raise OSError(error.errno, error.strerror, os.fspath(path)) from error",
          "        raise", "tests/test_atomic.py"),
    Break("a closed output is one message", "streams.py", "    if sys.stdout is None:", "    if False:", "tests/cli/test_streams.py"),
    Break("Ctrl-C ends with 130", "cli/ends.py", "raise SystemExit(TERMINATED if is_terminated else INTERRUPTED)",
          "raise SystemExit(TERMINATED if is_terminated else FINDINGS)",
          "tests/cli/test_signals.py::test_a_command_that_is_ended_has_the_status_of_the_signal"),
    Break("SIGTERM between commands ends with 143", "cli/edge.py", "if end.code == INTERRUPTED and", "if not end.code and",
          "tests/cli/test_signals.py::test_a_command_that_is_ended_has_the_status_of_the_signal"),
    Break("output is finished before a signal is raised", "signals.py", "        if len(came) > 1:", "        if came:",
          "tests/cli/test_signals.py::test_output_is_finished_before_a_signal_is_raised"),
    Break("no process of an op is left", "verify/isolation/descent.py",
          "                found[int(entry)] = int(fields[_PARENT])", "                found[int(entry)] = 0", "tests/verify/test_hostile.py"),
    Break("verdicts do not depend on the ops beside", "checker/model/session.py",
          "        return generator(self.options.seed, key)", "        import os\n\n        return generator(self.options.seed, key, os.getpid())",
          "tests/verify/test_same_verdicts.py::test_an_op_alone_is_judged_as_among_others"),
    Break("numbers: beyond 2**31 elements", "ops/core/inference.py", "        count *= size\n", "        count = count * size % 2**64\n",
          "tests/ops/test_stress.py::test_sizes_beyond_64_bits_are_inferred_exactly"),
)  # fmt: skip


def notices(item: Break) -> str:
    """Return what a test says to a broken promise: "noticed", or why not."""
    with TemporaryDirectory() as name:
        top = Path(name)
        for part in ("opkit", "tests", "templates", "sample_ops", "docs", "benchmarks"):
            shutil.copytree(ROOT / part, top / part, ignore=shutil.ignore_patterns("__pycache__"))
        for file in ("pyproject.toml", "README.md", "CONTRIBUTING.md", "CHANGELOG.md"):
            shutil.copy(ROOT / file, top / file)
        path = top / "opkit" / item.file
        text = path.read_text()
        if text.count(item.old) != 1:
            return f"its text occurs {text.count(item.old)} times"
        path.write_text(text.replace(item.old, item.new))
        words = ["-q", "-x", "-p", "no:cacheprovider", "--hypothesis-seed=0", "--no-header", item.test]
        ran = subprocess.run(
            [sys.executable, "-m", "pytest", *words],
            cwd=top, capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": name},
        )  # fmt: skip
        failed = [line.split(" - ")[0] for line in ran.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
        if ran.returncode != 1 or not failed:
            return f"NOT noticed (pytest: {ran.returncode})"
        return f"noticed: {failed[0]}"


def main(words: list[str]) -> int:
    """Break the promises, one after another."""
    status = 0
    for item in BREAKS:
        if words and not any(word in item.promise for word in words):
            continue
        found = notices(item)
        status |= not found.startswith("noticed")
        print(f"{item.promise:45} {found}", flush=True)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
