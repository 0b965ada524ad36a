"""``wireproof selftest``: test the judge on references with faults or legal variants."""

import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import click
import msgspec

from wireproof.options.global_options import manner
from wireproof.options.lazy_group import Command
from wireproof.view.selftest import SelftestView, choose_view
from wireproof_kit.errors import UsageFault
from wireproof_kit.protocols import list_with_reference
from wireproof_kit.runner.collect import collect
from wireproof_kit.selftest.dimensions import corner_trials, meeting_trials
from wireproof_kit.selftest.lock import FaultLock
from wireproof_kit.selftest.matrix import Matrix, check_writable, write_matrix
from wireproof_kit.selftest.plan import (
    ALTERNATIVE,
    FAULT,
    MIXES,
    VARIANT,
    Trial,
    TrialResult,
    find_lock,
    joint_trials,
    list_trials,
    random_mixes,
    sample_trials,
    select_trials,
)
from wireproof_kit.selftest.run_trials import run_trials
from wireproof_spec.clauses.loading import load_catalogue
from wireproof_spec.protocol import Group, list_having

SEED = 1
CLIENT_MIXES = 5
SIDE_BY_SIDE = 24
_NO_CLIENT = "--clients: {} has no example client, or --dimensions or --pairs is given"

EXAMPLES = (
    ("wireproof selftest", "every fault, every variant and fifty mixes of variants"),
    ("wireproof selftest --every-case", "also try every case that must not fail; takes long"),
    ("wireproof selftest --sample", "one fault of each must clause, and a few variants"),
    ("wireproof selftest ext.dispatch", "only the faults of these clauses"),
    ("wireproof selftest dispatch-to-all-late -v", "one fault, and the cases that detected it"),
    ("wireproof selftest --record cut-padded", "record what a new fault turns red; read the diff"),
    ("wireproof selftest --clients", "the same with the example client instead of the broker"),
    ("wireproof selftest --out docs/selftest.md", "write the matrix as Markdown, or as .jsonl"),
)


@click.command("selftest", cls=Command, examples=EXAMPLES)
@click.argument("ids", nargs=-1, metavar="[IDS]...")
@click.option(
    "--protocol",
    type=click.Choice(list_with_reference()),
    default=list_with_reference()[0],
    show_default=True,
    help="Protocol to test.",
)
@click.option("--sample", "sampled", is_flag=True, help="Only one fault of each must clause.")
@click.option(
    "--clients",
    "of_client",
    is_flag=True,
    help="Test the cases for clients, on the example client.",
)
@click.option(
    "--dimensions",
    is_flag=True,
    help="Break each must clause in one corner at a time, such as one partition or one path.",
)
@click.option(
    "--pairs",
    is_flag=True,
    help="Break each must clause about messages only where two corners meet.",
)
@click.option(
    "--record",
    is_flag=True,
    help="Run faults with every case, or in their corners, and add to the lock file which further "
    "clauses each turns red.",
)
@click.option(
    "--every-case",
    "every",
    is_flag=True,
    help="Try every case that must not fail, not a sample.",
)
@click.option(
    "--seed",
    type=int,
    default=SEED,
    show_default=True,
    metavar="N",
    help="Seed of the mixes and of the sample.",
)
@click.option(
    "-n",
    "size",
    type=click.IntRange(1, 64),
    default=SIDE_BY_SIDE,
    show_default=True,
    metavar="N",
    help="Most trials at a time.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write the matrix to this .md or .jsonl file.",
)
def selftest(
    ids: tuple[str, ...],
    protocol: str,
    *,
    sampled: bool,
    of_client: bool,
    dimensions: bool,
    pairs: bool,
    record: bool,
    every: bool,
    seed: int,
    size: int,
    out: Path | None,
) -> int:
    """Test the suites: each fault must be detected, no legal variant may fail.

    IDS are names of faults, variants or mixes, or prefixes of the clauses or cases whose faults
    are tried. Each case runs once: a failure that was seen once counts. A trial that ends wrongly
    beside others is repeated alone, and its second result counts. Exit code 0: cases of its
    own clauses detected every fault, and no case failed or stayed undecided on a legal variant.
    """
    if out is not None:
        check_writable(out)
    limited = dimensions or pairs
    if of_client and (limited or protocol not in list_having(Group.CLIENTS)):
        raise UsageFault(_NO_CLIENT.format(protocol))
    if limited:
        trials = _limited_trials(protocol, ids, dimensions=dimensions, pairs=pairs)
    else:
        trials = _trials(protocol, ids, of_client=of_client, faults_only=record, seed=seed)
    if sampled:
        clauses = load_catalogue(protocol).clauses()
        must = {clause.id for clause in clauses if clause.level == "must"}
        trials = sample_trials(trials, seed=seed, clauses=must)
    if not (every or ids or record):
        trials = tuple(msgspec.structs.replace(trial, every=False) for trial in trials)
    lock = _lock(protocol, of_client=of_client) if record else None
    view = choose_view(manner(), total=len(trials))
    started = time.monotonic()
    whole = every and not (ids or sampled or limited or of_client)
    matrix = Matrix(protocol, seed=seed, planned=len(trials), complete=whole)
    try:
        running = run_trials(protocol, trials, workers=size, of_client=of_client)
        with closing(running) as results:
            _watch(map(lock.record, results) if lock else results, matrix, view)
    except KeyboardInterrupt:
        matrix.interrupted = True
    matrix.seconds = round(time.monotonic() - started, 1)
    if out is not None:
        write_matrix(out, matrix)
    view.end(matrix, out, lock)
    return matrix.exit


def _lock(protocol: str, *, of_client: bool) -> FaultLock:
    """Return the lock file of the faults, written anew: what cannot be written is said at once."""
    faults = list_trials(protocol, FAULT, of_client=of_client)
    lock = FaultLock(find_lock(protocol, of_client=of_client), faults)
    lock.write()
    return lock


def _watch(results: Iterator[TrialResult], matrix: Matrix, view: SelftestView) -> None:
    for result in results:
        matrix.add(result)
        view.show(result)


def _trials(
    protocol: str, ids: Sequence[str], *, of_client: bool, faults_only: bool, seed: int
) -> tuple[Trial, ...]:
    faults = list_trials(protocol, FAULT, of_client=of_client)
    if faults_only:
        return _select(faults, ids, protocol, of_client=of_client)
    listed = list_trials(protocol, VARIANT, of_client=of_client)
    variants = [trial for trial in listed if trial.kind == VARIANT]
    joint = joint_trials([trial for trial in listed if trial.kind == ALTERNATIVE])
    # What takes longest comes first, so that nothing is left running alone at the end.
    mixes = random_mixes(variants, seed=seed, count=CLIENT_MIXES if of_client else MIXES)
    return _select((*joint, *mixes, *listed, *faults), ids, protocol, of_client=of_client)


def _limited_trials(
    protocol: str, ids: Sequence[str], *, dimensions: bool, pairs: bool
) -> tuple[Trial, ...]:
    """Return the trials of faults that are wrong in one corner, or where two corners meet."""
    faults = list_trials(protocol, FAULT, of_client=False)
    corners = corner_trials(protocol, faults) if dimensions else ()
    meetings = meeting_trials(protocol, faults) if pairs else ()
    return _select((*corners, *meetings), ids, protocol, of_client=False)


def _select(
    trials: tuple[Trial, ...], ids: Sequence[str], protocol: str, *, of_client: bool
) -> tuple[Trial, ...]:
    if not ids:
        return trials
    own = [item for item in collect(protocol) if item.is_for_clients is of_client]
    return select_trials(trials, ids, own)
