"""Faults of the NSQ reference: how a fault is made, and which clauses share cases."""

from collections.abc import Sequence
from functools import partial

from msgspec.structs import replace

from wireproof_reference_impl.overrides import Override
from wireproof_reference_impl.preset import BOUNDARY as BOUNDARY
from wireproof_reference_impl.preset import CLAUSE as CLAUSE
from wireproof_reference_impl.preset import CONDITION as CONDITION
from wireproof_reference_impl.preset import EXTRA as EXTRA
from wireproof_reference_impl.preset import LATE as LATE
from wireproof_reference_impl.preset import MISSING as MISSING
from wireproof_reference_impl.preset import PARSER as PARSER
from wireproof_reference_impl.preset import VARIANT as VARIANT
from wireproof_reference_impl.preset import WAYS as WAYS
from wireproof_reference_impl.preset import WRONG_VALUE as WRONG_VALUE
from wireproof_reference_impl.preset import Preset as Preset
from wireproof_reference_impl.preset import parser_fault as parser_fault
from wireproof_reference_impl.preset import variant as variant
from wireproof_reference_impl.settings import Settings

READERS = (
    "consume.batch consume.body-intact consume.header-intact consume.layout consume.no-header "
    "consume.plain-topic consume.version disk.no-ext-record dispatch.fallback dispatch.leave "
    "dispatch.not-ready dispatch.per-channel dispatch.to-matching dispatch.untagged "
    "http.accept http.header-stored http.odd-value http.trace-response http.value-exact "
    "http.x-nsqext http.x-nsqext-override parser.header-length parser.in-step parser.segmentation "
    "parser.truncated publish.accept publish.mpub-ext publish.pub-on-ext-topic "
    "publish.trace-response subscribe.support-needed upgrade.accept upgrade.again "
    "upgrade.old-messages upgrade.open-subscription"
)
"""Clauses of which some case reads a delivered message."""

TRACED = (
    "smart.trace.layout smart.trace.any-id smart.trace.internal-id smart.trace.batch "
    "smart.trace.partition smart.message-id.halves smart.message-id.untraced "
    "smart.message-id.increasing smart.message-id.again smart.message-id.finish "
    "smart.message-id.not-held smart.message-id.touch"
)
"""Clauses of which some case reads messages one by one where traced ones are published."""

MOVED = (
    "smart.cluster.moved-lookup smart.cluster.moved-kept smart.cluster.moved-order "
    "smart.cluster.gone-kept smart.cluster.gone-writes smart.cluster.moved-writes "
    "smart.cluster.moved-ids smart.cluster.not-leader-stored "
    "smart.cluster.moved-new-channel smart.history.kept smart.history.order"
)
"""Clauses of which some case lets another node lead, and reads and writes there."""

PUBLISHERS = (
    "consume.no-header http.ext-missing http.x-nsqext parser.empty-body parser.header-length "
    "parser.in-step parser.segmentation parser.truncated publish.accept publish.header-json "
    "publish.header-name publish.header-strict publish.header-value publish.mpub-ext "
    "publish.ok-response publish.plain-topic publish.pub-on-ext-topic publish.trace-empty "
    "publish.trace-id-form publish.trace-response upgrade.accept upgrade.again"
)
"""Clauses of which some case looks at the answer to a publish."""


_DOCUMENTS = ("ext.", "smart.")


def fault(
    name: str,
    text: str,
    *,
    breaks: str,
    settings: Settings | None = None,
    overrides: Sequence[Override] = (),
    may_break: str = "",
    kind: str = CLAUSE,
    way: str = "",
    late_overrides: Sequence[Override] = (),
) -> Preset:
    """Return a fault of the NSQ broker; `breaks` names clauses in one string of words.

    Those of document 000 are named without `ext.`. A fault that delivers something forbidden has a
    twin that does so 3 s late, made with `late_overrides`.
    """
    broken = _clauses(breaks)
    allowed = dict.fromkeys(_clauses(may_break))
    others = tuple(each for each in allowed if each not in broken)
    return Preset(
        name,
        kind,
        text,
        settings or {},
        broken,
        others,
        way,
        overrides=tuple(overrides),
        late_overrides=tuple(late_overrides),
    )


missing = partial(fault, way=MISSING)
boundary = partial(fault, way=BOUNDARY)
wrong_value = partial(fault, way=WRONG_VALUE)
extra = partial(fault, way=EXTRA)
condition = partial(fault, way=CONDITION)


def late_twin(preset: Preset) -> Preset | None:
    """Return the fault that delivers wrongly 3 s later than this one, or None."""
    if not preset.late_overrides:
        return None
    return replace(
        preset,
        name=f"{preset.name}-late",
        text=f"3 s late, besides what is due: {preset.text}",
        settings={},
        overrides=preset.late_overrides,
        way=LATE,
        late_overrides=(),
    )


def _clauses(words: str) -> tuple[str, ...]:
    return tuple(word if word.startswith(_DOCUMENTS) else f"ext.{word}" for word in words.split())
