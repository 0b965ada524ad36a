"""``wireproof proxy``: stands between clients and a broker, shows and judges what passes."""

import shlex
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import click

from wireproof.commands.bundles.report import refuse_unwritable
from wireproof.commands.run import check_bundle
from wireproof.options.global_options import manner
from wireproof.options.lazy_group import Command
from wireproof.view.passing import JsonPassing, LinePassing
from wireproof.view.style import Style
from wireproof_kit import pcap
from wireproof_kit.bundle.recorder import RunRecorder
from wireproof_kit.errors import UsageFault
from wireproof_kit.protocols import kit_part, read_target
from wireproof_kit.proxy.observer import Listener, Observer
from wireproof_kit.proxy.part import ProxyPart
from wireproof_kit.proxy.session import check_listen, run_proxy
from wireproof_kit.proxy.tally import Tally
from wireproof_kit.proxy.tap import Tap
from wireproof_kit.runner.collect import CLIENT_CASES, collect
from wireproof_kit.targets.target import Target
from wireproof_kit.verdicts.deviations import utc_date
from wireproof_kit.verdicts.outcome import EXIT_NOT_DONE
from wireproof_kit.version import KIT_VERSION
from wireproof_kit.wire.address import Address, add_brackets
from wireproof_spec.clauses.catalogue import LEVELS, PROXY, Level
from wireproof_spec.clauses.loading import load_catalogue
from wireproof_spec.record import FORMAT, HeaderRecord, TargetRecord

EXAMPLES = (
    (
        "wireproof proxy --listen 127.0.0.1:5150 --to nsq://127.0.0.1:4150",
        "point the client at port 5150; Ctrl-C ends with what was seen",
    ),
    (
        "wireproof proxy --listen localhost:5161 --to 'nsq://?lookupd=localhost:4161'",
        "stand before nsqlookupd and every node that its answers name",
    ),
    (
        "wireproof proxy --to nsq://127.0.0.1:4150 --json --pcap all.pcapng",
        "keep what passes for jq and for Wireshark",
    ),
)
LOOPBACK: Address = ("127.0.0.1", 0)


@click.command("proxy", cls=Command, examples=EXAMPLES)
@click.option(
    "--listen",
    multiple=True,
    metavar="HOST:PORT",
    help="Where to listen; repeatable, in the order of the addresses in --to. Default: any port.",
)
@click.option("--to", "url", required=True, metavar="URL", help="The broker, as for run.")
@click.option(
    "--ordered",
    multiple=True,
    metavar="TOPIC",
    help="This topic was made ordered: judge its order; repeatable.",
)
@click.option("--profile", type=click.Choice(LEVELS), default="must", help="Levels that count.")
@click.option(
    "--bundle", type=click.Path(path_type=Path), metavar="FILE", help="Write what was judged."
)
@click.option(
    "--pcap",
    "capture",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write all that passes as a capture for Wireshark.",
)
def proxy(
    listen: tuple[str, ...],
    url: str,
    ordered: tuple[str, ...],
    profile: Level,
    bundle: Path | None,
    capture: Path | None,
) -> int:
    """Stand between clients and a broker: show what passes, and judge both sides.

    Bytes pass unchanged, but for two things: TLS and compression are declined in IDENTIFY, and
    answers of lookup servers lead to the proxy. A clause is judged only if the traffic shows it.
    Exit code 1: a clause was violated. Exit code 2: the traffic showed no clause.
    """
    target = read_target(url)
    part = _part_of(target, ordered)
    services = part.list_services(target)
    if not services:
        raise UsageFault(
            f"--to {url}: expected the address of a broker, {target.protocol}://HOST:PORT"
        )
    places = [_address(each) for each in listen] or [LOOPBACK]
    check_listen(places, services)
    if bundle is not None:
        check_bundle(bundle)
    catalogue = load_catalogue(target.protocol)
    opening = collect(target.protocol, within=CLIENT_CASES) if part.opening else ()
    tally = Tally(target.protocol, catalogue, opening)
    view = _view(part)
    listeners: list[Listener] = [view]
    if capture is not None:
        refuse_unwritable({"pcap": capture}, folders=())
    capturing = None if capture is None else pcap.open_live(capture)
    if capturing is not None:
        listeners.append(capturing)
    tap = Tap()
    observer = Observer(tap, part.watch, tally, listeners, part.make_mask)
    try:
        run_proxy(part, services, places, tap, observer)
    finally:
        if capturing is not None:
            try:
                capturing.close()
            except OSError as error:
                observer.note_fault(f"--pcap {capture}: not complete ({error.strerror})")
    code = EXIT_NOT_DONE
    try:
        concluded = _conclude(target, tally, profile, bundle)
        code = EXIT_NOT_DONE if observer.faults and not concluded else concluded
    finally:
        # Also when the bundle cannot be written: what was seen is told nowhere else.
        view.end(observer, tap, tally.list_unseen(part.clauses), code)
    return code


def _part_of(target: Target, ordered: Sequence[str]) -> ProxyPart:
    """Return what the protocol adds to the proxy; it knows these topics as ordered."""
    make = kit_part(target.protocol).proxy
    if make is None:
        raise UsageFault(f"{target.url}: no proxy knows the protocol {target.protocol}")
    part = make()
    for topic in ordered:
        if part.know_ordered is None:
            raise UsageFault(f"--ordered {topic}: {target.protocol} has no ordered topics")
        part.know_ordered(topic)
    return part


def _address(text: str) -> Address:
    """Read HOST:PORT; port 0 is any free one."""
    if right := add_brackets(text):
        raise UsageFault(f"--listen {text}: an IPv6 address stands in brackets; write {right}")
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal() or int(port) >= 1 << 16:
        raise UsageFault(f"--listen {text!r}: expected HOST:PORT, the port from 0 to 65535")
    return host.strip("[]"), int(port)


def _view(part: ProxyPart) -> LinePassing | JsonPassing:
    if manner().json:
        return JsonPassing(sys.stdout)
    style = Style(manner().is_coloured(sys.stdout))
    return LinePassing(sys.stdout, part.tell, style, quiet=manner().quiet)


def _conclude(target: Target, tally: Tally, profile: Level, bundle: Path | None) -> int:
    """Write the bundle and return the exit code."""
    records = list(tally.records())
    recorder = RunRecorder(bundle)
    for record in records:
        recorder.case(record)
    used = {need for record in records for need in record.needs}
    catalogue = load_catalogue(target.protocol)
    recorder.begin(
        HeaderRecord(
            format=FORMAT,
            kit=KIT_VERSION,
            spec=catalogue.revisions,
            seed=0,
            target=TargetRecord(url=target.url, protocol=target.protocol, role=PROXY),
            claims={name: claim for name, claim in tally.claims().items() if name in used},
            readings={},
            patience={},
            profile=profile,
            selection=tuple(record.case for record in records) or ("nothing",),
            started=datetime.now(UTC).isoformat(timespec="seconds"),
            command=shlex.join(["wireproof", *sys.argv[1:]]),
        )
    )
    footer = recorder.close(today=utc_date())
    return EXIT_NOT_DONE if footer is None else footer.exit
