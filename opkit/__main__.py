"""``python -m opkit`` and the console script ``opkit``."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Callable, Sequence

from opkit.beginning import IS_COMMAND
from opkit.collection import uncollected
from opkit.signals import Terminated, terminable
from opkit.streams import fill_closed

#: While numpy is loaded a KeyboardInterrupt would become an ImportError that mentions a bad install.
_IS_QUIET = IS_COMMAND and signal.getsignal(signal.SIGINT) is signal.default_int_handler
if _IS_QUIET:
    signal.signal(signal.SIGINT, lambda number, frame: os._exit(130))


def main() -> None:
    """Run the command line.

    The interpreter that the workers of a check come from is started before anything else: it loads while this
    process does.
    """
    fill_closed()
    if sys.argv[1:] in (["--version"], ["-V"]):  # asked often, by scripts: nothing else is loaded for it
        from opkit.version import __version__

        try:
            print(f"opkit {__version__}", flush=True)
        except BrokenPipeError:
            os._exit(1)
        except OSError as error:
            print(f"error: standard output cannot be written: {error.strerror}", file=sys.stderr)
            os._exit(1)  # Python itself would try to write the rest again
        return
    try:
        if sys.argv[1:2] in (["run"], ["test"]):  # what they run has its own ways to end
            _run()
        else:
            try:
                with terminable():
                    _run()
            finally:
                if IS_COMMAND:  # it ends: no last round of the collector through all that was imported
                    gc.freeze()
    except KeyboardInterrupt as stop:  # before the command line could deal with it
        sys.exit(143 if isinstance(stop, Terminated) else 130)


def _run() -> None:
    words = sys.argv[1:]
    if words[:1] == ["run"] and words[1:] and not words[1].startswith("-"):  # no option of opkit's: nothing to parse
        with uncollected():
            from opkit.cli.job import run_plainly
        _loaded()
        run_plainly(words[1], words[2:])
    elif words[:1] == ["build"] and _is_plain(words, "--spec-only"):
        from opkit.cli.building import build_plainly

        _loaded()
        build_plainly(words[1:])
    elif _checks(words):
        from opkit.verify.workers.start import started

        with started(words[1:]) as interpreter:
            if words[0] == "gradcheck" and _is_plain(words):
                with uncollected():
                    from opkit.cli.checking import check_plainly
                _loaded()
                check_plainly(words[1:], interpreter)
            run = _command_line()
            run(interpreter)
    else:
        run = _command_line()
        run()


def _is_plain(words: Sequence[str], *flags: str) -> bool:
    """Return whether there is nothing to parse: no flag but these."""
    return not any(word.startswith("-") and word not in flags for word in words)


def _command_line() -> Callable[..., None]:
    with uncollected():
        from opkit.cli import main as run
    _loaded()
    return run


def _loaded() -> None:
    """Let Ctrl-C be dealt with by what runs from now on."""
    sys.excepthook = sys.__excepthook__
    if _IS_QUIET:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _checks(words: Sequence[str]) -> bool:
    """Return whether the words ask for a check, in a folder that exists: elsewhere an interpreter may fail to start."""
    try:
        os.getcwd()
    except OSError:
        return False
    return words[:1] in (["gradcheck"], ["sbp"]) and not any(
        word.startswith(("--h", "-h", "--repro", "--pdb")) for word in words
    )


if __name__ == "__main__":
    main()
