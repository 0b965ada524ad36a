"""Which case touches which lines: a clean broker that notes what runs, case by case."""

import json
import os
import signal
import time
from collections.abc import Sequence
from pathlib import Path

import case_runs
from msgspec import json as typed
from spread import Brokers

from wireproof_kit.runner.claims import Probed
from wireproof_kit.runner.engine import Engine
from wireproof_kit.runner.instance import Instance
from wireproof_kit.runner.run import Run


def probe_clean(brokers: Brokers, mode: str, out: Path) -> None:
    """Write to a file what the reference without a mutant claims and which readings it follows."""
    with case_runs.fork_brokers(brokers, mode):
        run = case_runs.open_run(mode, None, seconds=case_runs.SURE_S)
        told = {"claims": run.bench.claims, "readings": run.bench.readings}
        out.write_bytes(typed.encode(told))
        run.close()


def note(brokers: Brokers, mode: str, items: Sequence[Instance], clean: Probed, out: Path) -> None:
    """Run cases one at a time; write functions, lines, verdict and seconds of each as JSON.

    The key ``""`` has what is called before any case.
    """
    trace = out.with_suffix(".trace")
    brokers.trace = trace
    with case_runs.fork_brokers(brokers, mode):
        run = case_runs.open_run(mode, clean, seconds=case_runs.SURE_S)
        machine = case_runs.engine(run)
        found: dict[str, object] = {"": _record_calls(run, trace)}
        for item in sorted(items, key=lambda item: item.mark.alone):
            found[item.id] = _note_touched(run, machine, item, trace)
        run.close()
    out.write_text(json.dumps(found))


def _note_touched(run: Run, machine: Engine, item: Instance, trace: Path) -> dict[str, object]:
    record, seconds = case_runs.time_case(machine, item)
    return {
        **_record_calls(run, trace),
        "verdict": record.verdict,
        "reason": record.reason,
        "seconds": round(seconds, 4),
    }


def _record_calls(run: Run, trace: Path) -> dict[str, object]:
    assert run.embedded is not None
    os.kill(run.embedded.process.pid, signal.SIGUSR1)
    return _read_trace(trace)


def _read_trace(path: Path, within_s: float = 5.0) -> dict[str, object]:
    """Return what a traced broker wrote down, and remove the file."""
    end = time.monotonic() + within_s
    while not path.exists():
        if time.monotonic() > end:
            raise TimeoutError(f"{path} was not written")
        time.sleep(0.002)
    found: dict[str, object] = json.loads(path.read_text())
    path.unlink()
    return found
