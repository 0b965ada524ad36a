"""Measure what the cases of each interface cost, for ``wireproof run --plan``.

    python tools/case_costs.py

The embedded references are judged, and the averages of their cases replace
`kit/wireproof/running/case_costs.toml`. Run it when cases were added to an interface.
"""

import tempfile
from collections import defaultdict
from pathlib import Path

import wireproof
from wireproof_kit.protocols import list_with_reference
from wireproof_kit.runner.collect import collect
from wireproof_spec.record import CaseRecord

OUT = Path(__file__).resolve().parent.parent / "kit" / "wireproof" / "running" / "case_costs.toml"
GENERATIONS = (("iggy", {"generation": "apache"}),)
"""Generations of a reference that have cases of their own."""
HEAD = """\
# Averages of one case of each interface against the embedded reference on loopback, measured by
# tools/case_costs.py: connections, bytes sent and received, seconds at work, and seconds of cases
# that mostly wait, which overlap.
"""


def main() -> None:
    """Judge every reference and write the averages."""
    rows: dict[str, list[tuple[int, int, int, float, float]]] = defaultdict(list)
    waiting = {item.id for item in collect() if item.mark.waiting}
    for protocol, keys in (*((each, {}) for each in list_with_reference()), *GENERATIONS):
        with tempfile.TemporaryDirectory() as folder:
            options = wireproof.Options(bundle=Path(folder) / "b.jsonl", timeout=3.0, keys=keys)
            run = wireproof.run("reference", protocol, options=options)
        for record in run.records:
            interface = "/".join(record.case.split("/")[:2])
            rows[interface].append(measure(record, is_waiting=record.case in waiting))
    lines = [HEAD]
    for interface, costs in sorted(rows.items()):
        mean = [sum(column) / len(costs) for column in zip(*costs, strict=True)]
        numbers = ", ".join(f"{value:.3g}" if value < 1000 else f"{value:.0f}" for value in mean)
        lines.append(f'"{interface}" = [{numbers}]\n')
    OUT.write_text("".join(lines), "utf-8")


def measure(record: CaseRecord, *, is_waiting: bool) -> tuple[int, int, int, float, float]:
    """Return connections, bytes sent, bytes received, seconds at work and seconds of waiting."""
    steps = record.transcript.steps
    seconds = record.duration_us / 1e6
    return (
        sum(step.kind in ("open", "request") for step in steps),
        sum(step.length for step in steps if step.kind in ("send", "request")),
        sum(step.length for step in steps if step.kind in ("receive", "response")),
        0.0 if is_waiting else seconds,
        seconds if is_waiting else 0.0,
    )


if __name__ == "__main__":
    main()
