"""What a run would do to its target: ``wireproof run --plan``, without contacting it."""

import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from importlib import resources

from wireproof.view.style import wrap_after_heading
from wireproof_kit.protocols import kit_part, protocol_of
from wireproof_kit.runner.instance import Instance
from wireproof_kit.runner.request import RunOptions
from wireproof_reports.wording import count_noun

COSTS = "case_costs.toml"
UNITS = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"))


def describe_plan(
    instances: Sequence[Instance], *, hazardous: bool, on_loopback: bool
) -> Iterator[str]:
    """Yield lines on what the cases create, send and endanger, if the target offers all they need.

    ``hazardous``: the user allows cases that are known to end brokers.
    """
    yield f"cases    {len(instances):,}, if the target offers what they need"
    yield from wrap_after_heading("creates", _creations(instances))
    connections, sent, received, working, waiting = _sum_costs(instances)
    traffic = (
        f"about {round(connections, -1):,.0f} connections, {_size(sent)} sent and "
        f"{_size(received)} received; a case that fails is run {RunOptions().repeats} times"
    )
    yield from wrap_after_heading("traffic", traffic)
    seconds = working + waiting / RunOptions().waiters
    yield from wrap_after_heading(
        "time",
        f"about {max(seconds, 1):,.0f} s if answers come as fast as on loopback; each slower "
        "answer, and each one that is due and does not come, adds its wait",
    )
    yield from wrap_after_heading("hazards", _hazards(instances, hazardous, on_loopback))


def _creations(instances: Sequence[Instance]) -> str:
    """Return what is created on the target, in words of its protocol."""
    told: list[str] = []
    for protocol in dict.fromkeys(protocol_of(item.id) for item in instances):
        own = [item for item in instances if protocol_of(item.id) == protocol]
        count = kit_part(protocol).count_creations
        kinds = Counter(name for item in own for name in item.arguments)
        made: Mapping[str, int] = {} if count is None else count(kinds)
        told += [count_noun(number, noun) for noun, number in made.items() if number]
    if not told:
        return "nothing"
    return (
        f"about {', '.join(told)}, and more for cases that are repeated; all named wp_…, and "
        "deleted at the end where the target allows it (the run names what is left)"
    )


def _hazards(instances: Sequence[Instance], hazardous: bool, on_loopback: bool) -> str:
    hazards = [item.id for item in instances if item.mark.hazard]
    if not hazards:
        return "none of the cases is known to end brokers"
    told = f"{count_noun(len(hazards), 'case')} known to end some brokers"
    if hazardous or on_loopback:
        why = "--hazardous" if hazardous else "the target is on loopback"
        return f"{told}; they run last, since {why}. --restart CMD brings the target back"
    return f"{told}; they are left out without --hazardous"


def _sum_costs(instances: Sequence[Instance]) -> list[float]:
    """Return connections, bytes sent and received, and seconds at work and waiting."""
    text = (resources.files(__package__ or "") / COSTS).read_text("utf-8")
    table: dict[str, list[float]] = tomllib.loads(text)
    usual = [sum(column) / len(table) for column in zip(*table.values(), strict=True)]
    rows = [table.get("/".join(item.id.split("/")[:2]), usual) for item in instances]
    return [sum(column) for column in zip(*rows, strict=True)]


def _size(count: float) -> str:
    for unit, name in UNITS:
        if count >= unit:
            return f"{count / unit:.0f} {name}"
    return f"{count:.0f} bytes"
