"""``wireproof run``: judge a broker."""

import inspect
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, Unpack

import click
import msgspec

from wireproof.commands.bundles.report import (
    BEGINNING,
    refuse_overwriting,
    refuse_unwritable,
    write_report,
)
from wireproof.commands.list_cases import select, tell_contained
from wireproof.options.config import Settings
from wireproof.options.confirmation import confirm_found, confirm_place
from wireproof.options.global_options import manner
from wireproof.options.lazy_group import Command
from wireproof.options.run_options import run_options
from wireproof.options.target_choice import (
    REFERENCE,
    NamedTarget,
    given_keys,
    named_target,
    settings_for,
)
from wireproof.running.interruption import Interruption
from wireproof.running.last_failed import write_last_failed
from wireproof.running.plan import describe_plan
from wireproof.running.references import Request, requests
from wireproof.running.request import (
    LAST_FAILED,
    RunParameters,
    collect_narrowed,
    make_request,
    narrowing_options,
)
from wireproof.running.reset import run_reset
from wireproof.running.several import add_labels, conclude_several, name_targets
from wireproof.view import captures
from wireproof.view.choose_display import choose_display
from wireproof.view.display import Display
from wireproof.view.output import echo
from wireproof.view.summary import Result
from wireproof_kit.bundle.file import refuse_locked
from wireproof_kit.errors import KitError, UsageFault
from wireproof_kit.processes.limits import describe_few_files
from wireproof_kit.protocols import known_protocols, read_target
from wireproof_kit.runner.instance import Instance
from wireproof_kit.runner.request import RunRequest
from wireproof_kit.runner.run import LF
from wireproof_kit.runner.run_cases import Listener, RunRecords, run_cases
from wireproof_kit.verdicts.revision import check_revision
from wireproof_spec.clauses.catalogue import is_below
from wireproof_spec.clauses.loading import load_catalogue

OUT = Path("out")
REPORTS: tuple[Literal["html", "junit", "allure", "pcap"], ...] = (
    "html",
    "junit",
    "allure",
    "pcap",
)
INTERRUPTED = 130
NOT_DONE = 2
WORST_FIRST = (INTERRUPTED, NOT_DONE, 1, 3, 0)
"""Exit codes of several runs: which of them stands for all."""

EXAMPLES = (
    ("wireproof run nsq://127.0.0.1:4150", "judge everything the target offers"),
    ("wireproof run --reference", "judge the embedded reference broker"),
    (
        "wireproof run nsq://127.0.0.1:4150 ext.publish nsq/http",
        "only cases whose id, or whose clause id, begins with one of these",
    ),
    (
        "wireproof run URL --profile should --baseline deviations.toml",
        "count level should as well; allow the known failures in the file",
    ),
    (
        "wireproof run URL --data /var/lib/nsqd --lookupd 10.0.0.1:4161",
        "also run the cases that need a data directory or a cluster",
    ),
    (
        "wireproof run nsq://10.0.0.1:4150 nsq://10.0.0.2:4150 --html report.html",
        "judge several brokers in turn; the page is an index of their reports",
    ),
    (
        "wireproof run URL --plan",
        "say what a run would do to a shared cluster, and send nothing",
    ),
    (
        "wireproof run URL --hazardous --restart 'systemctl restart nsqd'",
        "also run cases that are known to crash brokers",
    ),
)


def _judge_target(arguments: tuple[str, ...], **options: Unpack[RunParameters]) -> int:
    """Judge a broker, clause by clause.

    An argument that contains :// is the target; the others are case or clause ids, or the
    beginning of one up to a / or a dot.
    Outside a terminal, -v prints a line for each case.
    Exit code: 0 no failure, 1 failures, 2 the run could not be done, 3 no failure but undecided
    cases, 130 interrupted. --reference judges the reference broker of each selected protocol in
    turn; from the second protocol on, its name is added to the names of the files. Several URLs
    are judged in turn: the address is added to the names of the files, --html FILE is an index of
    the reports, and the worst exit code (130, 2, 1, 3) stands for all.
    """
    settings = settings_for(manner())
    if several := name_targets(arguments, options, settings, given_keys()):
        if options["is_plan"]:
            return show_plan((named, options) for named in several)
        return _judge_several(several, options, settings)
    named = named_target(arguments, settings, reference=options["reference"], given=given_keys())
    if options["dry_run"]:
        return list_chosen(requests(named, options))
    if options["is_plan"]:
        return show_plan(requests(named, options))
    codes: list[int] = []
    for part, own in requests(named, options):
        codes.append(judge_target(part, own, settings, name=f"-{part.protocol}" if codes else ""))
        if codes[-1] == INTERRUPTED:
            break
    return min(codes, key=WORST_FIRST.index)


def _judge_several(
    several: Sequence[NamedTarget], options: RunParameters, settings: Settings
) -> int:
    """Judge targets one after another; one that cannot be judged does not keep others from it."""
    from wireproof_reports.render.index import IndexedRun, write

    files = _files(options, settings)
    index = files.get("html")
    refuse_unwritable({"html": index} if index else {})
    runs: list[IndexedRun] = []
    for name, named in add_labels(several):
        bundle, why = bundle_place(options["bundle"], settings, name=name), ""
        try:
            code = judge_target(named, options, settings, name=name, bundle=bundle)
        except UsageFault:
            raise
        except KitError as error:
            code, why = NOT_DONE, str(error)
            echo(f"wireproof: {why}", err=True)
        why = why or ("" if bundle.exists() else "interrupted")
        html = None if index is None else _add_name(index, name)
        runs.append(IndexedRun(named.url, code, bundle, html, why))
        if code == INTERRUPTED:
            break
    if index is not None:
        write(runs, index)
    worst = min((run.exit for run in runs), key=WORST_FIRST.index)
    for line in conclude_several(runs, worst, index):
        echo(line, err=manner().json)
    return worst


def judge_target(
    named: NamedTarget,
    options: RunParameters,
    settings: Settings,
    *,
    name: str,
    bundle: Path | None = None,
) -> int:
    """Run the cases against one target, write bundle and reports, and return the exit code.

    ``name`` is appended to the stem of every written file. ``bundle`` is where the bundle goes,
    unless the options say it.
    """
    confirm_found(settings, {key for key in REPORTS if not options[key]})
    files = {kind: _add_name(path, name) for kind, path in _files(options, settings).items()}
    refuse_unwritable(files)
    if lacking := captures.describe_missing(files):
        echo(f"wireproof: {lacking}", err=True)
        files = {kind: path for kind, path in files.items() if kind not in captures.FORMATS}
    bundle = bundle or bundle_place(options["bundle"], settings, name=name)
    refuse_overwriting(files, [bundle])
    if named.reset is not None:
        confirm_found(settings, {"reset"})
        run_reset(named.reset)
    display = choose_display(manner(), bundle=bundle, failures_only=options["failures_only"])
    interruption = Interruption()
    try:
        request = make_request(named, options, settings, bundle=bundle)
        records = _run(request, options, display, interruption)
    except KeyboardInterrupt:
        echo(f"wireproof: {interruption.describe_stop(bundle)}", err=True)
        return INTERRUPTED
    except KitError as error:
        display.fault(str(error))
        raise
    return _conclude(records, display, bundle=bundle, files=files)


def _run(
    request: RunRequest, options: RunParameters, display: Display, interruption: Interruption
) -> RunRecords:
    """Collect and run the cases."""
    told: list[Listener] = [interruption, display]
    with interruption.handles_signals():
        protocols = _protocols(request, options)
        instances = collect_narrowed(options, *protocols, url=request.plan.url)
        tell_contained(instances, request.plan.selection)
        narrowed = narrowing_options(options, *protocols, url=request.plan.url)
        if options["last_failed"] and LF not in narrowed:
            echo(
                f"wireproof: {LF}: {LAST_FAILED} names no failed case; all are selected", err=True
            )
        if few := describe_few_files(request.engine.waiters):
            echo(f"wireproof: {few}", err=True)
        plan = replace(request.plan, narrowed=narrowed)
        records = run_cases(
            replace(request, plan=plan),
            instances,
            told,
            is_stopped=interruption.is_asked,
            tell_wait=display.wait,
            tell_ended=display.ended,
            tell_lengthened=display.lengthened,
        )
    write_last_failed(LAST_FAILED, records.cases, records.ways)
    return records


run = Command(
    "run",
    callback=_judge_target,
    params=[click.Argument(["arguments"], nargs=-1, metavar="[URL]... [IDS]..."), *run_options()],
    help=inspect.getdoc(_judge_target),
    examples=EXAMPLES,
)


def _protocols(request: RunRequest, options: RunParameters) -> Iterable[str]:
    """Return the protocols whose cases are collected: all for --last-failed or --baseline.

    Otherwise only the target's protocol is needed.
    """
    if options["last_failed"] or request.baseline is not None:
        return known_protocols()
    plan = request.plan
    return [plan.protocol or read_target(plan.url).protocol]


def _add_name(path: Path, name: str) -> Path:
    """Return the path with a name appended to its stem."""
    return path.with_name(f"{path.stem}{name}{path.suffix}") if name else path


def bundle_place(given: Path | None, settings: Settings, *, name: str = "") -> Path:
    """Return the path for a run's bundle; raise an error if another kind of file is there.

    No file is made: a run that cannot begin leaves none.

    Raises:
        UsageFault: nothing can be written there, or the user does not allow it.
    """
    if given is None:
        confirm_found(settings, {"bundle"})
    configured = Path(settings.bundle) if settings.bundle else None
    asked = given or configured
    path = _add_name(asked, name) if asked else _fresh(name)
    if asked is None:
        confirm_place("bundle", path, Path(), "--bundle")
    check_bundle(path)
    return path


def check_bundle(path: Path) -> None:
    """Check that a bundle can be written at a path, and that no other kind of file is there.

    Raises:
        UsageFault: nothing can be written there.
    """
    refuse_unwritable({"bundle": path})
    if path.is_file():
        _refuse_taken(path)


def _refuse_taken(path: Path) -> None:
    try:
        with path.open("rb", buffering=0) as file:
            refuse_locked(path, file)
            begins = file.read(len(BEGINNING))
    except OSError as error:
        raise UsageFault(f"--bundle {path}: cannot be read ({error.strerror})") from error
    if begins and begins != BEGINNING:
        raise UsageFault(f"--bundle {path}: the file is there and is no bundle; name another")


def _fresh(name: str) -> Path:
    # To the microsecond: runs that begin in one second do not see each other's files yet.
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S-%fZ") + name
    path = OUT / f"run-{stamp}.jsonl"
    number = 1
    while path.exists():
        number += 1
        path = OUT / f"run-{stamp}-{number}.jsonl"
    return path


def _files(options: RunParameters, settings: Settings) -> dict[str, Path]:
    asked = {
        "html": options["html"] or settings.html,
        "junit": options["junit"] or settings.junit,
        "badge": options["badge"],
        "allure": options["allure"] or settings.allure,
        "pcap": options["pcap"] or settings.pcap,
        "pcap-all": options["pcap_all"],
    }
    return {name: Path(path) for name, path in asked.items() if path}


def list_chosen(parts: Iterable[Request]) -> int:
    """Print the ids of the cases that these runs would run; return the exit code."""
    count = 0
    for named, options in parts:
        for item in _choose(named, options):
            echo(item.id)
            count += 1
    echo(f"{count} cases would run, if the target offers what they need", err=True)
    return 0 if count else NOT_DONE


def show_plan(parts: Iterable[Request]) -> int:
    """Print what these runs would do to their targets; return the exit code."""
    is_empty = True
    for named, options in parts:
        chosen = list(_choose(named, options))
        is_empty = is_empty and not chosen
        on_loopback = named.url == REFERENCE or read_target(named.url, named.keys).is_loopback()
        echo(f"plan     {named.url}; nothing was sent")
        for line in describe_plan(chosen, hazardous=options["hazardous"], on_loopback=on_loopback):
            echo(line)
    return NOT_DONE if is_empty else 0


def _choose(named: NamedTarget, options: RunParameters) -> Iterator[Instance]:
    instances = _own(named, options)
    chosen = select(instances, named.prefixes)
    select(instances, options["exclude"])
    for protocol in {item.id.partition("/")[0] for item in chosen}:
        check_revision(load_catalogue(protocol), options["spec_rev"])
    for item in chosen:
        is_excluded = any(item.is_selected_by(prefix) for prefix in options["exclude"])
        is_of_revision = options["spec_rev"] is None or item.clause.since <= options["spec_rev"]
        if is_of_revision and not is_excluded:
            yield item


def _own(named: NamedTarget, options: RunParameters) -> list[Instance]:
    """Return the cases of the target's protocol, one for each thing that it has several of."""
    if named.url == REFERENCE:
        return [
            item
            for item in collect_narrowed(options)
            if is_below(item.id, named.protocol or "") and not item.is_for_clients
        ]
    target = read_target(named.url)
    collected = () if options["last_failed"] else (target.protocol,)
    return [
        item
        for item in collect_narrowed(options, *collected, url=named.url)
        if is_below(item.id, target.protocol) and item.is_for_clients == target.is_client()
    ]


def _conclude(
    records: RunRecords, display: Display, *, bundle: Path, files: dict[str, Path]
) -> int:
    footer = records.footer
    fault = _write_reports(bundle, files)
    if fault is not None:
        footer = msgspec.structs.replace(footer, exit=footer.exit or NOT_DONE)
    besides = (records.ways, records.left_behind, records.lengthened)
    display.end(Result(records.header, records.cases, footer, bundle, files, *besides))
    if fault is not None:
        echo(f"wireproof: {fault}", err=True)
    return footer.exit


def _write_reports(bundle: Path, files: dict[str, Path]) -> KitError | None:
    try:
        for name, path in files.items():
            write_report(name, bundle, path)
    except KitError as error:
        return error
    return None
