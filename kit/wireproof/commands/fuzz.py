"""``wireproof fuzz``: look for what a parser does not survive."""

import inspect
import shlex
from pathlib import Path
from typing import Unpack

import click

from wireproof.commands.run import bundle_place
from wireproof.fuzzing.corpus import Corpus, open_corpus
from wireproof.fuzzing.recorder import FuzzRecorder
from wireproof.options.fuzz_options import FuzzOptions, fuzz_options
from wireproof.options.global_options import manner
from wireproof.options.lazy_group import Command
from wireproof.options.target_choice import (
    REFERENCE,
    NamedTarget,
    given_keys,
    settings_for,
    sole_target,
)
from wireproof.running.interruption import Interruption
from wireproof.view.fuzzing import choose_fuzz_view
from wireproof.view.output import echo
from wireproof_kit import pcap
from wireproof_kit.drivers.child import split_command
from wireproof_kit.errors import UsageFault
from wireproof_kit.fuzz.campaign.batches import BATCH
from wireproof_kit.fuzz.campaign.last_words import check_log
from wireproof_kit.fuzz.campaign.plan import WorkerPlan
from wireproof_kit.fuzz.campaign.workers import TargetChoice, run_workers
from wireproof_kit.fuzz.driver import Choice
from wireproof_kit.protocols import (
    adapter_reference,
    find_off_loopback,
    kit_part,
    read_target,
    refuse_without_reference,
)
from wireproof_kit.runner.activity import SHORT_RUNS, Activity
from wireproof_kit.targets.process import find_process
from wireproof_kit.targets.target import ON_CLIENTS, ROLE, Target
from wireproof_kit.verdicts.deviations import Deviation, read_deviations, utc_date
from wireproof_spec.clauses.catalogue import CLIENT
from wireproof_spec.extras import install_command

TIME_S = 60.0
WITHOUT_SCAPY = (
    "left out, since scapy is not installed: the frames that it makes, captures of findings"
)

EXAMPLES = (
    ("wireproof fuzz nsq://127.0.0.1:4150", "fuzz for one minute"),
    ("wireproof fuzz --reference iggy --time 10m", "fuzz the reference broker for ten minutes"),
    (
        "wireproof fuzz URL --frames PUB_EXT --states identified",
        "only some frame kinds, in some connection states",
    ),
    (
        "wireproof fuzz URL --pid 4711 --restart 'systemctl restart nsqd'",
        "also watch the process, and restart it after a crash",
    ),
    ("wireproof fuzz URL --corpus corpus --seed 7", "resume an interrupted campaign"),
    ("wireproof fuzz 'oms+exec:java -jar adapter.jar'", "fuzz a system behind an adapter"),
    (
        "wireproof fuzz --exec 'python3 driver.py'",
        "fuzz a client: send it what no server should send",
    ),
)


def _fuzz(arguments: tuple[str, ...], **options: Unpack[FuzzOptions]) -> int:
    """Send valid and malformed frames to a broker, or with --exec to a client.

    Every answer of a broker is judged. A client must not die, hang or loop, and must not
    acknowledge or report to its user a message that it was not given. A system behind an adapter
    is sent valid and broken messages: it must answer all, and deliver unchanged what it accepts.
    The same seed gives the same cases in the same order. Exit code: 0 no finding, 1 findings, 2
    the campaign could not be done, 3 only anomalies that never came back, 130 interrupted.
    """
    named = _name_target(arguments, options)
    protocol = named.protocol or read_target(named.url).protocol
    target = _fuzzed(named)
    is_client = target is not None and target.is_client()
    _refuse_unfitting(target, options)
    _refuse_afar(target, hazardous=options["hazardous"])
    if options["pid"] is not None:
        find_process(options["pid"])
    _check_commands(options)
    _refuse_unknown_names(protocol, options, is_client=is_client)
    corpus = open_corpus(options["corpus"], protocol)
    seed, first = corpus.start(options["seed"], _describe_choice(options))
    deviations = _deviations(options["baseline"])
    settings = settings_for(manner())
    is_named = options["bundle"] or settings.bundle
    bundle = bundle_place(options["bundle"], settings, name="" if is_named else "-fuzz")
    plan = _plan(named, options, seed, first, corpus)
    view = choose_fuzz_view(manner(), plan)
    recorder = FuzzRecorder(
        bundle=bundle,
        protocol=protocol,
        url=named.url,
        given=tuple(key for key, _ in named.keys),
        seed=seed,
        deviations=deviations,
        today=utc_date(),
        view=view,
        corpus=corpus,
        workers=options["workers"],
        wanted=_describe_choice(options),
        role=CLIENT if is_client else "",
        plan=plan,
    )
    view.begin(named.url, seed, bundle, first)
    if not pcap.is_installed():
        echo(f"wireproof: {WITHOUT_SCAPY}; {install_command('pcap')}", err=True)
    if left_behind := corpus.left_behind(seed, _describe_choice(options)):
        echo(f"wireproof: {left_behind}", err=True)
    interruption = Interruption(has_begun=True, notice=b"")
    activity = Activity(SHORT_RUNS) if is_client else Activity()
    with interruption.handles_signals(), activity.watch(recorder.wait):
        run_workers(
            _place(named, options, seed),
            plan,
            count=options["workers"],
            report=recorder.hear,
            is_interrupted=interruption.is_asked,
        )
        return recorder.close(interrupted=interruption.is_asked())


def _name_target(arguments: tuple[str, ...], options: FuzzOptions) -> NamedTarget:
    if options["command"] is not None:
        return _name_client(arguments, options["command"], options)
    protocol = options["reference"]
    if protocol is not None:
        if arguments:
            raise UsageFault(f"expected a URL or --reference, found both: {arguments[0]}")
        return NamedTarget(REFERENCE, keys=given_keys(), protocol=protocol)
    settings = settings_for(manner())
    return sole_target(arguments, settings, advice="; choose with --frames, --states")


def _name_client(arguments: tuple[str, ...], command: str, options: FuzzOptions) -> NamedTarget:
    """Return the client as a target; another target beside it is refused."""
    if arguments or options["reference"] is not None:
        found = "a URL" if arguments else "--reference"
        raise UsageFault(f"expected a broker or, with --exec, a client; found {found}, too")
    split_command(command)
    role = options["role"]
    keys = ((ROLE, role),) if role else ()
    return NamedTarget(f"{options['protocol']}{ON_CLIENTS}:{command}", keys=keys)


def _fuzzed(named: NamedTarget) -> Target | None:
    """Return what is fuzzed; None for a reference broker, which is started later."""
    if named.protocol:
        refuse_without_reference(named.protocol)
        return adapter_reference(named.protocol)
    return read_target(named.url, named.keys)


def _refuse_unfitting(target: Target | None, options: FuzzOptions) -> None:
    """Refuse options that would be ignored for the target, even if their value is empty."""
    given: dict[str, object] = {
        "--pid": options["pid"],
        "--log": options["log"],
        "--log-command": options["log_command"],
        "--drawn": options["drawn"],
        "--restart": options["restart"],
    }
    if target is None:
        kind, fitting = "the embedded reference", {"--drawn"}
    elif target.is_client():
        kind, fitting = "a client", {"--drawn"}
    elif kit_part(target.protocol).open_adapter_fuzz_session is not None:
        kind, fitting = "an adapter", {"--restart"} if target.adapter is None else set[str]()
    else:
        return
    for name, value in given.items():
        if name not in fitting and value not in (None, False):
            raise UsageFault(f"{name} cannot be used with {kind}; leave it out")


def _refuse_unknown_names(protocol: str, options: FuzzOptions, *, is_client: bool) -> None:
    """Refuse frames and states that nothing of the protocol has, before anything is opened."""
    check = kit_part(protocol).check_fuzz_choice
    choice = _choice(options, seed=0)
    if check is not None and (choice.frames or choice.states or choice.excluded):
        check(choice, is_client)


def _refuse_afar(target: Target | None, *, hazardous: bool) -> None:
    if target is None or hazardous or target.is_client():
        return
    if far := find_off_loopback(target):
        raise UsageFault(
            f"{far} is not on this machine's loopback, and fuzzing may kill what it is "
            "pointed at, fill its disk and leave topics behind; give --hazardous if it may"
        )


def _check_commands(options: FuzzOptions) -> None:
    """Refuse two sources of a log, a log that cannot be read, and what is no command."""
    log, command, restart = options["log"], options["log_command"], options["restart"]
    if log is not None and command is not None:
        raise UsageFault("expected --log or --log-command, found both")
    if log is not None:
        check_log(log)
    if command is not None:
        split_command(command, "--log-command")
    if restart is not None:
        split_command(restart, "--restart")


def _plan(
    named: NamedTarget, options: FuzzOptions, seed: int, first: int, corpus: Corpus
) -> WorkerPlan:
    """Return the plan of a campaign; hazardous cases go only to a reference or on request."""
    time_s, cases = options["time_s"], options["cases"]
    if time_s is None and cases is None:
        time_s = TIME_S
    return WorkerPlan(
        _choice(options, seed),
        time_s=time_s,
        cases=None if cases is None else cases + first * BATCH,
        first=first,
        hazardous=bool(named.protocol) or options["hazardous"],
        stop_at_first=options["stop_at_first"],
        shrink=not options["no_shrink"],
        corpus=corpus.findings(),
    )


def _choice(options: FuzzOptions, seed: int) -> Choice:
    return Choice(
        seed,
        options["frames"],
        options["states"],
        options["drawn"],
        options["exclude_frames"],
    )


def _place(named: NamedTarget, options: FuzzOptions, seed: int) -> TargetChoice:
    return TargetChoice(
        url="" if named.protocol else named.url,
        keys=named.keys,
        protocol=named.protocol or "",
        extra=_split_options(options["reference_option"]),
        restart=options["restart"],
        log=options["log"],
        log_command=options["log_command"],
        pid=options["pid"],
        token=f"f{seed}",
        timeout_s=options["timeout"],
    )


def _split_options(given: tuple[str, ...]) -> tuple[str, ...]:
    """Return the words of each given option and its value, as a shell would split them.

    Raises:
        UsageFault: a quotation mark is not closed.
    """
    try:
        return tuple(word for each in given for word in shlex.split(each))
    except ValueError as error:
        raise UsageFault(f"--reference-option {' '.join(given)!r}: {error}".lower()) from error


def _describe_choice(options: FuzzOptions) -> str:
    drawn = ["drawn"] if options["drawn"] else []
    excluded = [f"-{each}" for each in options["exclude_frames"]]
    return " ".join([*drawn, *options["frames"], *excluded, "/", *options["states"]])


def _deviations(path: Path | None) -> tuple[Deviation, ...]:
    return () if path is None else read_deviations(path, known_ids=None, today=utc_date())


fuzz = Command(
    "fuzz",
    callback=_fuzz,
    params=[click.Argument(["arguments"], nargs=-1, metavar="[URL]"), *fuzz_options()],
    help=inspect.getdoc(_fuzz),
    examples=EXAMPLES,
)
