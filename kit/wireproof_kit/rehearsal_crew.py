"""A crew of processes that share out trials between them."""

import queue
import subprocess
import sys
import threading
from collections.abc import Generator, Sequence

import msgspec

from wireproof_kit.rehearsal_trials import Shown, Trial

END_WITHIN_S = 20.0
TRIAL_WITHIN_S = 300.0
ENDED = f"the process that rehearsed it ended, or was ended after {TRIAL_WITHIN_S:g} s"


class Crew:
    """Rehearses trials in several processes at a time."""

    def __init__(self, protocol: str, size: int) -> None:
        self._protocol = protocol
        self._size = size
        self._trials: queue.SimpleQueue[Trial] = queue.SimpleQueue()
        self._shown: queue.SimpleQueue[Shown] = queue.SimpleQueue()
        self._workers: list[subprocess.Popen[bytes]] = []

    def rehearse(self, trials: Sequence[Trial]) -> Generator[Shown, None, None]:
        """Give what each trial showed as it comes; leaving early ends the processes.

        A trial whose process ends or hangs is in trouble, and says so.
        """
        for trial in trials:
            self._trials.put(trial)
        for _ in range(min(self._size, len(trials))):
            threading.Thread(target=self._work, name="rehearsal", daemon=True).start()
        try:
            for _ in trials:
                yield self._shown.get()
        finally:
            self._dismiss()

    def _work(self) -> None:
        worker = self._hire()
        while True:
            try:
                trial = self._trials.get_nowait()
            except queue.Empty:
                _close(worker)
                return
            shown = _asked(worker, trial)
            self._shown.put(shown or Shown(trial, trouble=ENDED))
            if shown is None:
                worker = self._hire()

    def _hire(self) -> subprocess.Popen[bytes]:
        worker = subprocess.Popen(
            [sys.executable, "-m", "wireproof_kit.rehearsal_worker", self._protocol],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self._workers.append(worker)
        return worker

    def _dismiss(self) -> None:
        """End what still works; it ends its reference when its own stdin does."""
        while not self._trials.empty():
            self._trials.get_nowait()
        for worker in self._workers:
            if worker.poll() is None:
                worker.terminate()
        for worker in self._workers:
            try:
                worker.wait(END_WITHIN_S)
            except subprocess.TimeoutExpired:
                worker.kill()
                worker.wait(END_WITHIN_S)


def _asked(worker: subprocess.Popen[bytes], trial: Trial) -> Shown | None:
    if worker.stdin is None or worker.stdout is None:
        return None
    limit = threading.Timer(TRIAL_WITHIN_S, worker.kill)
    limit.start()
    try:
        worker.stdin.write(msgspec.json.encode(trial) + b"\n")
        worker.stdin.flush()
        line = worker.stdout.readline()
    except (BrokenPipeError, ValueError):
        return None
    finally:
        limit.cancel()
    return msgspec.json.decode(line, type=Shown) if line else None


def _close(worker: subprocess.Popen[bytes]) -> None:
    if worker.stdin:
        worker.stdin.close()
