"""The entry point of the ``wireproof`` command: arguments in, exit code out, no traceback ever."""

import codecs
import errno
import io
import os
import re
import signal
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress

import click
from click.shell_completion import shell_complete

from wireproof.commands.table import COMMANDS
from wireproof.options.global_options import add_manner
from wireproof.options.lazy_group import COMPLETION, LazyGroup, describe_unknown_option

NOT_DONE = 2
# As shells report them: 128 plus the number of the signal, SIGINT and SIGPIPE.
INTERRUPTED = 130
PIPE_CLOSED = 141
REPLACE = "wireproof"
"""The name of the error handler of stdout and stderr."""
SPELLED = {"…": "...", "µ": "u"}
"""Signs that the kit prints itself, for an encoding that lacks them."""
_DISK_FULL = (errno.ENOSPC, errno.EDQUOT)
_POSIX = ("fcntl", "resource")
_UNREACHABLE = re.compile(r"cannot reach ([a-z]+://\S+) \(.+\)")
_DOCTOR = "see `wireproof doctor`"
_ADVICE = "Is the broker running? Try: wireproof doctor {}"

EXAMPLES = (
    ("wireproof run nsq://127.0.0.1:4150", "judge a broker, clause by clause"),
    (
        "wireproof run --reference --html report.html",
        "judge the reference broker and write a report",
    ),
    (
        "wireproof explain ext.publish.header-json",
        "show what a clause says and which answers are accepted",
    ),
    ("wireproof doctor nsq://127.0.0.1:4150", "find out why it does not work on this machine"),
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return the process's exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    _write_in_any_encoding()
    if asked := os.environ.get(COMPLETION):
        return shell_complete(root_command(), {}, "wireproof", COMPLETION, asked)
    _end_as_if_interrupted()
    _keep_caches_at_home()
    is_process = argv is None
    try:
        code = _invoke(arguments, adopts=is_process)
        _tell_left_running(is_process=is_process)
        return code
    except BrokenPipeError:
        # Point stdout elsewhere, or the interpreter complains when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PIPE_CLOSED


def _write_in_any_encoding() -> None:
    """Have stdout and stderr replace what their encoding lacks, such as a micro sign in ASCII."""
    codecs.register_error(REPLACE, _replace_unencodable)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=REPLACE)


def _replace_unencodable(error: UnicodeError) -> tuple[str | bytes, int]:
    """Return a sign of ours spelled in ASCII; any other character as an escape."""
    if isinstance(error, UnicodeEncodeError):
        spelled = SPELLED.get(error.object[error.start])
        if spelled is not None:
            return spelled, error.start + 1
    return codecs.backslashreplace_errors(error)


def _end_as_if_interrupted() -> None:
    """Make SIGTERM act like Ctrl-C: results are kept, and started processes are ended."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.default_int_handler)


def _raise_limits() -> None:
    with suppress(ModuleNotFoundError):  # Windows has no limits to raise
        from wireproof_kit.processes.limits import raise_limits

        raise_limits()


def _keep_caches_at_home() -> None:
    """Let Hypothesis keep its tables in the user's cache, not as .hypothesis in this folder.

    Keeping none is too slow: what UTF-8 can encode takes it 1.5 to 4 s to find out.
    """
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    os.environ.setdefault(
        "HYPOTHESIS_STORAGE_DIRECTORY", os.path.join(cache, "wireproof", "hypothesis")
    )


def _invoke(arguments: list[str], *, adopts: bool) -> int:
    """Run one command; say why it is refused after what may be the cause: packages left out."""
    refusal = ""
    try:
        code = _run_command(arguments, adopts=adopts)
    except click.exceptions.Exit as end:
        code = end.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), sys.stderr)
        code = NOT_DONE
    except click.ClickException as error:
        code, refusal = NOT_DONE, _sentence(error)
    except (KeyboardInterrupt, click.Abort) as error:
        code, refusal = INTERRUPTED, f"interrupted; {str(error) or 'the command did not finish'}"
    except BrokenPipeError:
        raise
    except Exception as error:  # the outermost loop: whatever it is, one sentence
        code, refusal = NOT_DONE, _explain(error)
    told = _tell_left_out()
    if refusal and not any(why in refusal for why in told):
        _refuse(refusal)
    return code


def _run_command(arguments: list[str], *, adopts: bool) -> int:
    with root_command().make_context("wireproof", arguments) as context:
        _raise_limits()  # once it is a command that runs: the list of commands needs no kit
        if adopts:
            from wireproof_kit.processes.watch import adopt_orphans

            adopt_orphans()
        result: object = context.command.invoke(context)
    sys.stdout.flush()
    return result if isinstance(result, int) else 0


def _tell_left_running(*, is_process: bool) -> None:
    """Name what a program has left running that the command could not end."""
    if not is_process or "wireproof_kit.drivers.child" not in sys.modules:
        return
    from wireproof_kit.drivers.processor import HELPERS
    from wireproof_kit.processes.watch import list_orphans, name_of

    for pid in list_orphans(HELPERS.list_pids()):
        _refuse(f"a program left process {pid} ({name_of(pid)}) running")


def _tell_left_out() -> list[str]:
    """Name what was left out, if this command looked for protocols at all; return the reasons."""
    registry = sys.modules.get("wireproof_spec.protocol")
    if registry is None:
        return []
    reasons: list[str] = list(registry.left_out().values())
    for protocol, why in registry.left_out().items():
        _refuse(f"protocol {protocol!r} is left out: {why}")
    for flaw in registry.list_flaws():
        _refuse(flaw)
    return reasons


def root_command() -> click.Command:
    """Return the click command ``wireproof``, which imports its subcommands when they are used."""
    version = click.Option(
        ("--version",),
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_show_version,
        help="Show the versions of the kit and of the published texts it knows.",
    )
    root = LazyGroup(
        "wireproof",
        COMMANDS,
        help="Judge message brokers against the published texts they implement.",
        examples=EXAMPLES,
        params=[version],
        no_args_is_help=True,
    )
    return add_manner(root)


def _show_version(context: click.Context, _param: click.Parameter, value: object) -> None:
    if value and not context.resilient_parsing:
        from wireproof_kit.protocols import known_protocols
        from wireproof_kit.version import KIT_VERSION
        from wireproof_spec.clauses.loading import load_catalogue

        known = {
            name: revision
            for protocol in known_protocols()
            for name, revision in load_catalogue(protocol).revisions.items()
        }
        revisions = ", ".join(f"{name} r{revision}" for name, revision in known.items())
        click.echo(f"wireproof {KIT_VERSION} (spec {revisions})")
        context.exit()


def _sentence(error: click.ClickException) -> str:
    """Make one sentence of what click has to say."""
    # Of a missing argument, click lists the choices one a line, after a full stop.
    if isinstance(error, click.NoSuchOption):
        text = describe_unknown_option(error)
    else:
        text = error.format_message()
    text = " ".join(text.rstrip(".").split())
    text = text.replace(". Choose from:", "; choose from")
    context = error.ctx if isinstance(error, click.UsageError) else None
    text = text[:1].lower() + text[1:]
    return f"{text} (see `{context.command_path} --help`)" if context else text


def _explain(error: Exception) -> str:
    """Return one sentence on an error that ended a command, and on what to do about it."""
    return _explain_usual(error) or _explain_mistake(error)


def _explain_usual(error: Exception) -> str:
    """Return a sentence on an error that a user can mend; empty if it is no such error."""
    from wireproof_kit.errors import KitError, is_exhausted
    from wireproof_spec.protocol import UnknownProtocol

    if isinstance(error, KitError):
        return _with_advice(str(error))
    if isinstance(error, UnknownProtocol):
        package = getattr(error, "package", "")
        return f"the package {package} is broken: {error}" if package else str(error)
    if is_exhausted(error):
        return f"the kit has used up a limit of this machine ({error}); {_DOCTOR}"
    if isinstance(error, OSError) and error.errno in _DISK_FULL:
        where = f" ({error.filename})" if error.filename else ""
        others = "TMPDIR can name another, for those of Spark SPARK_LOCAL_DIRS can"
        return f"a disk is full{where}; for temporary files {others}"
    if isinstance(error, ModuleNotFoundError) and error.name in _POSIX:
        return f"this command needs Linux or macOS: {error}; on Windows, WSL has it"
    return ""


def _explain_mistake(error: Exception) -> str:
    """Return a sentence on a mistake in the kit, or in the package of a protocol."""
    from wireproof_spec.protocol import describe_type, find_culprit

    details, what = _write_down(error), describe_type(error)
    blame = find_culprit(error)
    if blame is None:
        return f"kit error: {what}; please report, {details}"
    if blame.own:
        where = f"in the package {blame.package}, not in wireproof"
        return f"error {where}: {blame.where}: {what}; {details}"
    called = f"called by the package {blame.package} ({blame.where})"
    return f"kit error: {what}, {called}; if the call is right, please report, {details}"


def _with_advice(sentence: str) -> str:
    """Say what to do next about a target that accepts no connection."""
    found = _UNREACHABLE.fullmatch(sentence)
    return f"{sentence}. {_ADVICE.format(found[1])}" if found else sentence


def _write_down(error: Exception) -> str:
    """Write the traceback into a temporary file; return words that say where it is."""
    import tempfile
    import traceback

    try:
        with tempfile.NamedTemporaryFile(
            "w", prefix="wireproof-error-", suffix=".txt", delete=False, encoding="utf-8"
        ) as file:
            file.writelines(traceback.format_exception(error))
    except OSError as why:
        return f"details cannot be written ({why.strerror or why}); TMPDIR can name another folder"
    return f"details in {file.name}"


def _refuse(sentence: str) -> None:
    from wireproof.view.output import echo

    echo(f"wireproof: {' '.join(sentence.splitlines())}", err=True)
