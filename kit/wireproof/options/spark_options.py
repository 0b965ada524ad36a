"""The options of the commands that use Spark; they are checked before Spark starts."""

import logging
import re
import socket
import sys
import tempfile
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from wireproof.options.global_options import manner
from wireproof.view.output import write_lines
from wireproof_kit.errors import UsageFault
from wireproof_kit.wire.address import add_brackets
from wireproof_reports.pipeline.bundles.wanted import missing_package
from wireproof_spec.extras import install_command

if TYPE_CHECKING:
    from wireproof_reports.pipeline.session import Session, Wanted

REACH_S = 5.0
LOCAL = "local[*]"
_SECRET = re.compile(r"(?i)(key|secret|token|password|[._]sas)([._-]|$)")
"""Names of settings that hold a key or a secret, such as ``fs.azure.account.key.ACCOUNT``."""
_VERSION = re.compile("[0-9]{1,18}")
F = TypeVar("F", bound=Callable[..., object])


def spark_options(command: F) -> F:
    """Add ``--master`` and ``--conf`` to a command."""
    master = click.option(
        "--master",
        default=LOCAL,
        show_default=True,
        metavar="URL",
        help="URL of the Spark master.",
    )
    conf = click.option(
        "--conf", multiple=True, metavar="NAME=VALUE", help="A Spark setting; repeatable."
    )
    return master(conf(command))


def as_of_option(command: F) -> F:
    """Add ``--as-of`` to a command."""
    told = "Use the history as it was at a version of its table, or at the end of a day."
    option = click.option("--as-of", metavar="VERSION|DATE", help=told, callback=_check_state)
    return option(command)


def _check_state(_context: click.Context, _param: click.Parameter, value: str | None) -> str:
    """Return the wanted state, or an empty text for the newest one.

    Raises:
        UsageFault: the text is neither a version nor a date, such as that of an unset variable.
    """
    if value is None or _VERSION.fullmatch(value):
        return value or ""
    try:
        datetime.fromisoformat(value)
    except ValueError as error:
        raise UsageFault(
            f"--as-of {value}: expected a version, or a date such as 2026-11-21"
        ) from error
    return value


def wanted_spark(master: str, conf: Sequence[str], remote: str = "") -> "Wanted":
    """Return which Spark to use, and how, from the options of the command line.

    Raises:
        UsageFault: a package or Java is missing, a setting is invalid, a master is unreachable.
    """
    refuse_without("pyspark", "pyarrow")
    settings = dict(_settings(conf))
    from wireproof_reports.pipeline.jars import SparkFault, check_java
    from wireproof_reports.pipeline.session import Wanted

    wanted = Wanted(master=master, remote=remote, settings=settings)
    if remote:
        _reach_remote(remote)
        return wanted
    _reach(master)
    try:
        check_java()
    except SparkFault as error:
        raise UsageFault(str(error)) from error
    return wanted


def refuse_without(*packages: str) -> None:
    """Check that Python packages are installed; the error names a missing one.

    Raises:
        UsageFault: a package is not installed.
    """
    missing = missing_package(packages)
    if missing:
        raise UsageFault(
            f"this needs {missing}, which is not installed; "
            f"install it with: {install_command('spark')}"
        )


def say_what_spark_does(wanted: "Wanted") -> None:
    """Write to stderr that Spark starts, and whether its jars are fetched first."""
    from wireproof_reports.pipeline import jars

    if manner().quiet:
        return
    lines: list[str] = []
    if not wanted.has_delta and not jars.find_jars(jars.folder()):
        size = f"{jars.MEGABYTES} MB, about {jars.FETCHED_S} s"
        lines.append(f"progress [ fetching Delta's jars, {size}, once, to {jars.folder()} ]")
    lines.append(f"progress [ starting Spark on {wanted.remote or wanted.master} ]")
    write_lines(sys.stderr, lines)


def say_spark_is_ready(seconds: float) -> None:
    """Write to stderr how long Spark took until it answered: no command can be faster."""
    if not manner().quiet:
        write_lines(sys.stderr, [f"progress [ Spark answered `select 1` after {seconds:.1f} s ]"])


@contextmanager
def interruptible() -> Generator[None]:
    """Say of an interrupted command what a history is left in.

    Raises:
        KeyboardInterrupt: the user interrupted it.
    """
    if not logging.root.handlers:
        # py4j logs an interrupted call with its traceback, which Python then prints.
        logging.root.addHandler(logging.NullHandler())
    try:
        yield
    except KeyboardInterrupt:
        raise KeyboardInterrupt("no batch of a history is half written") from None


@contextmanager
def running_spark(wanted: "Wanted") -> Generator["Session"]:
    """Start Spark and yield its session; stop it afterwards, and keep its log after a failure.

    Raises:
        UsageFault: Spark cannot be started or did not answer, a bundle or the history is refused.
    """
    with interruptible(), _running_spark(wanted) as spark:
        yield spark


@contextmanager
def _running_spark(wanted: "Wanted") -> Generator["Session"]:
    from wireproof_reports.bundle_file import BundleFault
    from wireproof_reports.pipeline.jars import SparkFault
    from wireproof_reports.pipeline.place import HistoryFault
    from wireproof_reports.pipeline.session import session
    from wireproof_reports.pipeline.shipping import ship

    say_what_spark_does(wanted)
    log = _new_log()
    try:
        with ship(wanted) as told, session(told, log, say_spark_is_ready) as spark:
            yield spark
    except (BundleFault, HistoryFault) as error:
        _forget(log)
        raise UsageFault(str(error)) from error
    except SparkFault as error:
        raise UsageFault(str(error)) from error
    except KeyboardInterrupt:
        _forget(log)
        raise
    else:
        _forget(log)


def _new_log() -> Path:
    """Return an empty file for the output of Spark, in a temporary folder of its own.

    Raises:
        UsageFault: there is no temporary folder, or its disk is full.
    """
    from wireproof_reports.pipeline.session import OTHER_TEMP

    try:
        log = Path(tempfile.mkdtemp(prefix="wireproof-log-")) / "spark.log"
        log.touch()
    except OSError as error:
        why = error.strerror or str(error)
        raise UsageFault(f"no temporary folder can be made ({why}); {OTHER_TEMP}") from error
    return log


def _forget(log: Path) -> None:
    log.unlink(missing_ok=True)
    log.parent.rmdir()


def _settings(conf: Sequence[str]) -> Iterator[tuple[str, str]]:
    for setting in conf:
        name, equals, value = setting.partition("=")
        if not equals or not name.startswith("spark."):
            raise UsageFault(f"--conf {setting}: expected spark.NAME=VALUE")
        if _SECRET.search(name):
            raise UsageFault(
                f"--conf {name}: secrets are not taken from the command line, where others can "
                "read them; give them in spark-defaults.conf in SPARK_CONF_DIR, or, for S3, in "
                "the environment (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY)"
            )
        yield name, value


def _reach(master: str) -> None:
    """Raise an error if a standalone master cannot be reached: Spark would try for a minute.

    Raises:
        UsageFault: no address of the master accepts a connection, or the URL is not Spark's.
    """
    kind, _, rest = master.partition("://")
    if kind != "spark":
        _refuse_unknown(master)
        return
    why = ""
    for address in rest.split(","):
        why = _unreachable("--master", master, "spark://HOST:PORT", address)
        if not why:
            return
    told = f"--master {master} cannot be reached ({why.lower()})"
    raise UsageFault(f"{told}; is the master running?")


def _reach_remote(remote: str) -> None:
    """Raise an error if a server of Spark Connect cannot be reached.

    Raises:
        UsageFault: the server accepts no connection, or the URL is not that of such a server.
    """
    refuse_without("grpc")
    kind, _, rest = remote.partition("://")
    address, _, parameters = rest.partition("/")
    if any(_SECRET.search(each.partition("=")[0]) for each in parameters.split(";")):
        raise UsageFault(
            f"--remote {kind}://{address}: a token is not taken from the command "
            "line, where others can read it; give it in SPARK_CONNECT_AUTHENTICATE_TOKEN"
        )
    if kind != "sc":
        raise UsageFault(f"--remote {remote}: expected sc://HOST:PORT")
    why = _unreachable("--remote", remote, "sc://HOST:PORT", address)
    if why:
        told = f"--remote {remote} cannot be reached ({why.lower()})"
        raise UsageFault(f"{told}; is Spark's Connect server running?")


def _unreachable(option: str, url: str, expected: str, address: str) -> str:
    """Return why no connection is accepted there; empty if one is."""
    if right := add_brackets(address):
        raise UsageFault(f"{option} {url}: an IPv6 address stands in brackets; write {right}")
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit() or not 0 < int(port) < 1 << 16:
        raise UsageFault(f"{option} {url}: expected {expected}, found {address!r}")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=REACH_S).close()
    except OSError as error:
        return error.strerror or str(error)
    return ""


def _refuse_unknown(master: str) -> None:
    known = master in ("local", "yarn") or master.startswith(("local[", "k8s://"))
    if not known:
        raise UsageFault(
            f"--master {master}: expected local[N], spark://HOST:PORT, yarn or k8s://URL"
        )
