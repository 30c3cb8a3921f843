"""The edge: the root command, and what becomes of a command line that cannot be read."""

from __future__ import annotations

import os
from typing import Any, cast

import typer
from typer.core import TyperGroup

from opkit.cli.console import error_line, warn
from opkit.cli.ends import INTERRUPTED, TERMINATED, USAGE, ended
from opkit.cli.help import page_of
from opkit.cli.taking import take_as_they_are
from opkit.errors import UsageError, unknown
from opkit.signals import Terminated

#: What a command line raises that cannot be parsed; typer does not name the class.
_Unparsed: type[Exception] = typer.BadParameter.__mro__[1]


class Edge(TyperGroup):
    """The root command: runs a sub-command and turns what it raises into a message and an exit status."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help page."""
        formatter.write(page_of(self, ctx))

    def main(self, *args: Any, **extra: Any) -> Any:
        """Run; a signal that comes before a command or after it ends as one that comes within."""
        try:
            return super().main(*args, **extra)
        except SystemExit as end:
            if end.code == INTERRUPTED and _comes_from(end, Terminated):  # typer takes every signal for Ctrl-C
                raise SystemExit(TERMINATED) from None
            raise

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments."""
        take_as_they_are(self.get_params(ctx))
        return super().parse_args(ctx, self._flags_first(args))

    def _flags_first(self, args: list[str]) -> list[str]:
        """Return the arguments with the root command's flags in front, as they may also follow a command's name.

        Not those of a script that a command runs, nor what follows ``--``.
        """
        name = next((item for item in args if not item.startswith("-")), "")
        command = self.commands.get(name)
        if command is None or command.context_settings.get("ignore_unknown_options"):
            return args
        start = args.index(name)
        end = args.index("--") if "--" in args else len(args)
        own = {text for item in command.params for text in item.opts}
        flags = {text for item in self.params if getattr(item, "is_flag", False) for text in item.opts} - own
        moved = [item for item in args[start:end] if item in flags and item.startswith("-")]
        rest = [item for item in args[start:end] if item not in moved]
        return [*args[:start], *moved, *rest, *args[end:]]

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """Read the options before the command."""
        try:
            return super().make_context(info_name, args, parent, **extra)
        except _Unparsed as problem:
            raise _unusable(problem) from problem

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that the arguments name.

        Raises:
            UsageError: there is no such command; the nearest is named.
        """
        if args and not args[0].startswith("-") and args[0] not in self.commands and not ctx.resilient_parsing:
            found = unknown("opkit has no command", args[0], self.commands)
            told = "opkit --help lists them, and says where the documentation is"
            raise UsageError(found.message, help=f"{found.help} {told}".strip())
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run the command that the arguments name."""
        with ended():
            try:
                return super().invoke(ctx)
            except _Unparsed as problem:
                raise _unusable(problem) from problem


def _unusable(problem: Any) -> Exception:
    """Show why a command line cannot be parsed, and return what ends the program."""
    if type(problem).__name__ == "NoArgsIsHelpError":
        return cast(Exception, problem)
    command, name = getattr(problem.ctx, "command", None), getattr(problem, "option_name", None)
    path = problem.ctx.command_path if problem.ctx is not None and problem.ctx.parent is not None else "opkit"
    path = " ".join(["opkit", *path.split(" ")[-1:]]) if path != "opkit" else path
    if name is not None and command is not None and type(problem).__name__ == "NoSuchOption":
        known = [text for item in command.get_params(problem.ctx) for text in (*item.opts, *item.secondary_opts)]
        options = [text for text in known if text.startswith("--")]
        root = problem.ctx.find_root().command
        is_earlier = any(name in (*item.opts, *item.secondary_opts) for item in root.params)
        otherwise = f"it goes before the command: opkit {name} ..." if is_earlier else f"{path} --help"
        error = unknown(f"{path} has no option", name, options, otherwise=otherwise).error(UsageError)
    else:
        text = problem.format_message().rstrip(".")
        error = UsageError(f"{path}: {text[:1].lower()}{text[1:]}", help=f"{path} --help")
    warn(error_line(error))
    return typer.Exit(USAGE)


def _comes_from(error: BaseException | None, kind: type[BaseException]) -> bool:
    """Return whether an error was raised because of one of a kind."""
    while error is not None and not isinstance(error, kind):
        error = error.__cause__ or error.__context__
    return error is not None


def refuse_options(command: str, script: str) -> None:
    """Refuse an argument that begins like an option where a script is expected.

    Raises:
        UsageError: it does; the nearest option of the command is named.
    """
    if not script.startswith("-") or os.path.exists(script):
        return
    options = ["--show-plan", "--profile", "--report", "--gpu-as-cpu", "--numpy1-names", "--threads", "--cluster"]
    options.append("--help")
    raise unknown(f"opkit {command} has no option", script, options, has="it has").error(UsageError)
