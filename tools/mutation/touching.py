"""Which case touches which lines: a clean broker that notes what runs, case by case."""

import json
import os
import signal
from collections.abc import Sequence
from pathlib import Path

from forked_broker import ForkServer, wait_until_dumped
from msgspec import json as typed

import bench
from wireproof_kit.runner.engine import Engine
from wireproof_kit.runner.instance import Instance
from wireproof_kit.runner.run import Run


def probe_clean(server: ForkServer, manner: str, out: Path) -> None:
    """Write down what the clean reference claims and which readings it follows."""
    with bench.forked(server, manner):
        run = bench.opened(manner, None, seconds=bench.SURE_S)
        told = {"claims": run.bench.claims, "readings": run.bench.readings}
        out.write_bytes(typed.encode(told))
        run.close()


def note(
    server: ForkServer, manner: str, items: Sequence[Instance], clean: bench.Clean, out: Path
) -> None:
    """Run cases one at a time; write case → functions, lines, verdict, seconds, as JSON.

    The key ``""`` holds what is called before any case.
    """
    trace = out.with_suffix(".trace")
    server.trace = trace
    with bench.forked(server, manner):
        run = bench.opened(manner, clean, seconds=bench.SURE_S)
        machine = bench.engine(run)
        found: dict[str, object] = {"": _called(run, trace)}
        for item in sorted(items, key=lambda item: item.mark.alone):
            found[item.id] = _noted(run, machine, item, trace)
        run.close()
    out.write_text(json.dumps(found))


def _noted(run: Run, machine: Engine, item: Instance, trace: Path) -> dict[str, object]:
    record, seconds = bench.timed(machine, item)
    return {
        **_called(run, trace),
        "verdict": record.verdict,
        "reason": record.reason,
        "seconds": round(seconds, 4),
    }


def _called(run: Run, trace: Path) -> dict[str, object]:
    assert run.embedded is not None
    os.kill(run.embedded.process.pid, signal.SIGUSR1)
    return wait_until_dumped(trace)
