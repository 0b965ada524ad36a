"""One run: open the target, probe claims, bind readings, choose cases, write the header."""

import random
import secrets
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Self

from wireproof_kit.errors import UsageFault
from wireproof_kit.protocols import (
    kit_part,
    known_protocols,
    list_with_reference,
    protocol_of,
    read_target,
    refuse_without_reference,
)
from wireproof_kit.runner.activity import SHORT_RUNS, Activity
from wireproof_kit.runner.claims import Probed, check_claims, probe_target
from wireproof_kit.runner.exclusions import read_exclusions
from wireproof_kit.runner.instance import Instance
from wireproof_kit.runner.patience import ANSWER, PUSH, REDELIVERY
from wireproof_kit.targets.embedded import EmbeddedReference, start_reference
from wireproof_kit.targets.opening import check_beside, open_session
from wireproof_kit.targets.session import NamesLeft, Session, SessionOptions, keeps_to_loopback
from wireproof_kit.targets.target import Target, option_of, split_token
from wireproof_kit.verdicts.judge import JudgeContext, is_shown, missing_capability
from wireproof_kit.verdicts.outcome import EXCLUDED
from wireproof_kit.verdicts.revision import check_revision
from wireproof_kit.version import KIT_VERSION
from wireproof_spec.clauses.catalogue import CLIENT, Catalogue, Level, is_below
from wireproof_spec.clauses.loading import load_catalogue
from wireproof_spec.clauses.origin import BINDING, Binding
from wireproof_spec.record import FORMAT, WITHHELD, HeaderRecord, ReadingChoice, TargetRecord

REFERENCE = "reference"
LF = "--lf"
"""The option that keeps only the cases that failed last time."""


@dataclass(frozen=True, slots=True)
class RunPlan:
    """What a user asked for: the target, the selection of cases, and how strictly to judge.

    ``url`` is a target URL or ``reference``: that of ``protocol``, or else of the first one whose
    cases are asked for; ``keys`` are target keys given beside the URL; ``claims`` are NAME → true
    or false; ``selection`` and ``exclude`` are prefixes of case or clause ids, ``narrowed`` the
    options that left cases out before; ``timeout`` in seconds replaces measured patience; a
    ``passing`` target ends with the run, as the embedded reference does.
    """

    url: str
    protocol: str | None = None
    keys: tuple[tuple[str, str], ...] = ()
    selection: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    narrowed: tuple[str, ...] = ()
    claims: Mapping[str, bool] = field(default_factory=dict[str, bool])
    topics: Mapping[str, str] = field(default_factory=dict[str, str])
    reading: ReadingChoice = "any"
    profile: Level = "must"
    origins: tuple[Binding, ...] = BINDING
    spec_revision: int | None = None
    hazardous: bool = False
    timeout: float | None = None
    seed: int | None = None
    passing: bool = False
    command: str = ""
    reference_options: tuple[str, ...] = ()
    probed: Probed | None = None
    """What probes of the same target showed before. Nothing is probed then, nor `claims` used."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The cases to run, those that the target does not support, and those left out.

    ``not_selected`` maps clause groups to the reason why they are left out.
    """

    run: tuple[Instance, ...]
    unsupported: tuple[Instance, ...]
    left_out: tuple[Instance, ...]
    not_selected: Mapping[str, str]


@dataclass(slots=True)
class Run:
    """An open target with its capabilities probed and the readings it follows known."""

    plan: RunPlan
    seed: int
    target: Target
    session: Session
    catalogue: Catalogue
    bench: JudgeContext
    embedded: EmbeddedReference | None = None
    _on_loopback: bool | None = None

    @classmethod
    def open(
        cls,
        plan: RunPlan,
        instances: Sequence[Instance] = (),
        activity: Activity | None = None,
    ) -> Self:
        """Open the target of a plan, or the embedded reference, and probe it.

        Topics for the selected cases among ``instances`` are begun before the probes: a cluster
        takes a minute and more to make one.

        Raises:
            UsageFault: what is asked for by id is none of ``instances``, or a revision or a
                claimed capability is unknown; nothing was opened.
            KitError: the target, or an address given beside it, cannot be reached, or it stays
                silent or is no URL.
        """
        seed = plan.seed if plan.seed is not None else secrets.randbelow(1_000_000)
        embedded = None
        url = plan.url
        is_embedded = url == REFERENCE
        if is_embedded:
            protocol, is_client = reference_of(plan, instances), False
        else:
            named = read_target(url, plan.keys)
            protocol, is_client = named.protocol, named.is_client()
        _refuse_unmatched(plan, protocol, instances, is_client=is_client)
        catalogue = load_catalogue(protocol).for_target(is_client=is_client)
        check_revision(catalogue, plan.spec_revision)
        check_claims(catalogue, plan.claims)
        if is_embedded:
            known = kit_part(protocol).target_keys
            # A choice, such as a generation, is what the reference is to be; other keys, such as
            # an authority's file, are for the kit alone.
            chosen = [
                word
                for key, value in plan.keys
                if key in known and known[key].form == "choice"
                for word in (option_of(key), value)
            ]
            embedded = start_reference(protocol, (*plan.reference_options, *chosen))
            url = embedded.url
        try:
            return cls._open_target(plan, url, seed, embedded, instances, activity or Activity())
        except BaseException:
            if embedded is not None:
                embedded.close()
            raise

    @classmethod
    def _open_target(
        cls,
        plan: RunPlan,
        url: str,
        seed: int,
        embedded: EmbeddedReference | None,
        instances: Sequence[Instance],
        activity: Activity,
    ) -> Self:
        target = read_target(url, plan.keys)
        catalogue = load_catalogue(target.protocol).for_target(is_client=target.is_client())
        token = f"{random.Random(seed).randrange(36**4):x}{secrets.token_hex(3)}"
        options = SessionOptions(
            seed=seed,
            run_token=token,
            timeout=plan.timeout,
            topics=plan.topics,
            passing=plan.passing or embedded is not None,
        )
        if target.is_client():
            activity.begin(SHORT_RUNS)
        session = open_session(target, options)
        try:
            if instances:
                check_beside(target)
            own = _of_target(target.protocol, instances, is_client=target.is_client())
            session.begin(_count_needed(item for item in own if _is_asked_for(plan, item)))
            probed = plan.probed or probe_target(session, catalogue, plan.claims, activity)
            session.bind({name: bound.reading for name, bound in probed.readings.items()})
        except BaseException:
            session.close()
            raise
        bench = JudgeContext(catalogue, probed.claims, probed.readings, plan.reading)
        return cls(plan, seed, target, session, catalogue, bench, embedded)

    def choose(self, instances: Sequence[Instance]) -> Choice:
        """Select the cases to run, by the user's selection, revision, hazard and capabilities.

        Raises:
            UsageFault: nothing is selected, or what was asked for by id cannot be run.
        """
        is_client = self.target.is_client()
        own = _of_target(self.target.protocol, instances, is_client=is_client)
        asked = [item for item in own if _is_asked_for(self.plan, item)]
        _refuse_unmatched(self.plan, self.target.protocol, own, is_client=is_client)
        run: list[Instance] = []
        unsupported: list[Instance] = []
        left_out: list[Instance] = []
        reasons: dict[str, str] = {}
        for item in asked:
            reason = self._reason_to_leave_out(item)
            if reason:
                left_out.append(item)
                reasons.setdefault(item.clause.group, reason)
            elif missing_capability(item.needs, self.bench) is not None:
                unsupported.append(item)
            else:
                run.append(item)
        self._refuse_emptied(run + unsupported, left_out, reasons)
        kept = {item.clause.group for item in run + unsupported}
        groups = {group: why for group, why in reasons.items() if group not in kept}
        return Choice(tuple(run), tuple(unsupported), tuple(left_out), groups)

    def prepare(self, instances: Sequence[Instance]) -> None:
        """Create the topics and other objects that the chosen cases need."""
        self.session.prepare(_count_needed(instances))

    def header(self, choice: Choice) -> HeaderRecord:
        """Return the header record, the first one in the bundle."""
        limits, shown = self.session.patience, (ANSWER, PUSH, REDELIVERY)
        patience = {wait.value: limits.seconds(wait) for wait in shown}
        if limits.is_withheld:
            patience[WITHHELD] = limits.seconds(PUSH)
        return HeaderRecord(
            format=FORMAT,
            kit=KIT_VERSION,
            spec=self.catalogue.revisions,
            seed=self.seed,
            target=TargetRecord(
                url=REFERENCE if self.embedded else self.target.url,
                protocol=self.target.protocol,
                fingerprint=self.session.fingerprint(),
                given=self.target.list_given(),
                role=CLIENT if self.target.is_client() else "",
            ),
            claims=dict(self.bench.claims),
            readings=dict(self.bench.readings),
            patience=patience,
            profile=self.plan.profile,
            origins=self.plan.origins,
            reading=self.plan.reading,
            selection=self.plan.selection,
            not_selected={
                **choice.not_selected,
                **dict.fromkeys(self.plan.exclude, EXCLUDED),
                **_list_excluded(),
            },
            narrowed=self.plan.narrowed,
            spec_rev=self.plan.spec_revision or 0,
            started=datetime.now(UTC).isoformat(timespec="seconds"),
            command=self.plan.command,
        )

    def list_left(self) -> tuple[str, ...]:
        """Return what the run made on the target and could not delete, once it is closed."""
        return tuple(self.session.left_behind()) if isinstance(self.session, NamesLeft) else ()

    def close(self) -> None:
        """Delete what the kit created and end the embedded reference."""
        try:
            self.session.close()
        finally:
            if self.embedded is not None:
                self.embedded.close()

    def _reason_to_leave_out(self, item: Instance) -> str:
        if item.mark.hazard and not (self.plan.hazardous or self._is_on_loopback()):
            return "hazardous; give --hazardous"
        lacking = [need for need in item.needs if not is_shown(need, self.bench.claims)]
        known = [each for need in lacking if (each := self.catalogue.capability(need))]
        for capability in known:
            if capability.left_out:
                return capability.left_out
        for capability in known:
            if capability.given_by and not self._has(capability.id):
                return f"give --{capability.given_by}"
        return ""

    def _is_on_loopback(self) -> bool:
        if self._on_loopback is None:
            self._on_loopback = self.target.is_loopback() and keeps_to_loopback(self.session)
        return self._on_loopback

    def _has(self, need: str) -> bool:
        capability = self.catalogue.capability(need)
        return capability is not None and capability.given_by in self.target.list_given()

    def _refuse_emptied(
        self, kept: Sequence[Instance], left_out: Sequence[Instance], reasons: Mapping[str, str]
    ) -> None:
        for prefix in self.plan.selection:
            if not any(item.is_selected_by(prefix) for item in kept):
                lost = [item for item in left_out if item.is_selected_by(prefix)]
                why = reasons[lost[0].clause.group] if lost else "everything in it is excluded"
                raise UsageFault(f"{prefix!r} cannot be run against this target: {why}")
        if not kept and LF in self.plan.narrowed:
            raise UsageFault(
                f"{LF}: nothing failed last time that can be run here; leave {LF} out"
            )
        if not kept:
            raise UsageFault("nothing is selected: every case was excluded; loosen the selection")


def reference_of(plan: RunPlan, instances: Sequence[Instance]) -> str:
    """Return the protocol whose reference the plan runs against.

    Raises:
        UsageFault: the given protocol has no reference.
    """
    known = list_with_reference()
    asked = {protocol_of(item.id) for item in instances if _is_asked_for(plan, item)}
    named = [plan.protocol] if plan.protocol else asked if plan.selection else ()
    for protocol in named:
        refuse_without_reference(protocol)
    if plan.protocol is not None and plan.protocol not in known:
        raise UsageFault(f"{plan.protocol!r} has no reference; expected one of {', '.join(known)}")
    return plan.protocol or next((name for name in known if name in asked), known[0])


def _refuse_unmatched(
    plan: RunPlan, protocol: str, instances: Sequence[Instance], *, is_client: bool
) -> None:
    """Refuse a prefix that matches no case; nothing is checked if only the target is opened."""
    own = _of_target(protocol, instances, is_client=is_client)
    others = _of_target(protocol, instances, is_client=not is_client)
    for prefix in (*plan.selection, *plan.exclude):
        if instances and not any(item.is_selected_by(prefix) for item in own):
            if any(item.is_selected_by(prefix) for item in others):
                raise UsageFault(_of_others(prefix, is_client=is_client))
            if LF in plan.narrowed:
                raise UsageFault(f"{LF}: of {prefix!r} nothing failed last time; leave {LF} out")
            other = protocol_of(prefix)
            if other != protocol and other in known_protocols():
                raise UsageFault(f"{prefix!r} is of protocol {other}, the target of {protocol}")
            raise UsageFault(describe_unmatched(prefix, own, [load_catalogue(protocol)]))


def _of_others(prefix: str, *, is_client: bool) -> str:
    if is_client:
        return f"{prefix!r} holds cases for brokers, not for clients; use `wireproof run`"
    return f"{prefix!r} holds cases for clients, not for brokers; use `wireproof client`"


def _of_target(protocol: str, instances: Iterable[Instance], *, is_client: bool) -> list[Instance]:
    """Return the cases of a protocol that are for clients, or those that are not."""
    return [
        item
        for item in instances
        if is_below(item.id, protocol) and item.is_for_clients == is_client
    ]


def _is_asked_for(plan: RunPlan, item: Instance) -> bool:
    if plan.spec_revision is not None and item.clause.since > plan.spec_revision:
        return False
    if any(item.is_selected_by(prefix) for prefix in plan.exclude):
        return False
    return not plan.selection or any(item.is_selected_by(p) for p in plan.selection)


def _count_needed(instances: Iterable[Instance]) -> Counter[str]:
    """Count the arguments of cases by name."""
    return Counter(name for item in instances for name in item.arguments)


def _list_excluded() -> dict[str, str]:
    """Name what the kit itself leaves out, and why."""
    return {
        entry.id: f"known to be wrong, to be mended by {entry.until}: {entry.why}"
        for entry in read_exclusions()
    }


def describe_unmatched(
    prefix: str, instances: Sequence[Instance], catalogues: Sequence[Catalogue]
) -> str:
    """Return a sentence that a prefix selects no case, with the nearest ids."""
    import difflib

    for catalogue in catalogues:
        clause = catalogue.clause(prefix)
        if clause is not None and clause.status != "tested":
            return f"clause {prefix} is {clause.status} ({clause.why}); choose another selection"
        if any(is_below(other.id, prefix) for other in catalogue.clauses()):
            return f"{prefix!r} holds only clauses without a case; choose another selection"
    ids = {part for item in instances for part in (*_prefixes(item.id, "/"), item.clause.id)}
    ids |= {item.clause.group for item in instances}
    near = difflib.get_close_matches(prefix, sorted(ids), n=3, cutoff=0.5)
    hint = f"; nearest: {', '.join(near)}" if near else ""
    return f"{split_token(prefix)[0]!r} selects no case{hint} (see `wireproof list`)"


def _prefixes(identifier: str, separator: str) -> list[str]:
    words = identifier.split(separator)
    return [separator.join(words[:count]) for count in range(1, len(words) + 1)]
