"""The target of a campaign: at an address, or a reference started for it."""

import contextlib
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from wireproof_kit.errors import ArrangementFailed, TargetUnreachable, UsageFault
from wireproof_kit.fuzz.campaign.last_words import LastWords
from wireproof_kit.fuzz.driver import FuzzSession, FuzzSessionOptions
from wireproof_kit.processes.forked_broker import BrokerClient
from wireproof_kit.protocols import kit_part, read_target
from wireproof_kit.runner.patience import Patience
from wireproof_kit.targets.embedded import EmbeddedReference, await_ready, start_child
from wireproof_kit.targets.opening import check_patience, reach
from wireproof_kit.targets.process import find_listener, listens, read_start_time
from wireproof_kit.targets.target import Target
from wireproof_kit.wire.address import connect

UP_WITHIN_S = 30.0
# A supervisor may restart a target before the user's command does. If none has at the first death,
# none is waited for at the later ones: with a broker that dies often, this took half of the time.
COMES_BACK_S = 0.5
POLL_S = 0.02
CONNECT_S = 2.0


def refuse_ill(fuzz_session: FuzzSession) -> None:
    """Check that the kit's own clients work before the first case: else nothing can be judged.

    To a broker that delivers nothing every case seemed to do harm, which no repeat confirmed.

    Raises:
        ArrangementFailed: they do not.
    """
    if trouble := fuzz_session.health.check():
        raise ArrangementFailed(
            f"before the first case was sent, {trouble.words}: nothing could be judged; "
            "`wireproof run URL` says what the target does not do"
        )


def describe_ill(fuzz_session: FuzzSession) -> str:
    """Return how the target does not serve the kit's own clients; empty if it does."""
    trouble = fuzz_session.health.check()
    return f"it does not serve new clients of the kit: {trouble.words}" if trouble else ""


@dataclass(slots=True)
class AddressTarget:
    """A fuzz target at an address; `command` restarts it and returns True if that worked.

    When its `process` ends, the one that listens on its port instead is watched, if it did itself.
    `is_shared`: other workers use the target at the same time.
    """

    target: Target
    options: FuzzSessionOptions
    command: Callable[[], bool] | None = None
    process: int | None = None
    last_words: LastWords = lambda: ""
    is_shared: bool = False
    _openings: int = field(default=0, init=False)
    _comes_back: bool = field(default=True, init=False)
    _latest: FuzzSession | None = field(default=None, init=False)
    _born: int | None = field(default=None, init=False)
    _listens: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        if self.process is not None:
            self._born = read_start_time(self.process)
            self._listens = listens(self.process, self.target.port)

    @property
    def can_restart(self) -> bool:
        """Whether the user gave a command to restart the target."""
        return self.command is not None

    @property
    def may_restart(self) -> bool:
        """Whether a restart harms nothing else: no other worker, and no watch on the process."""
        return self.can_restart and not self.is_shared and self.process is None

    @property
    def pid(self) -> int | None:
        """The process that the user gave, or the one in its place; None once it has ended."""
        if (
            self.process is None
            or self._born is None
            or read_start_time(self.process) != self._born
        ):
            return None
        return self.process

    def open(self) -> FuzzSession:
        """Open a session; time limits are measured until that has succeeded once."""
        options = replace(self.options, opening=self._openings, patience=measured(self._latest))
        self._openings += 1
        self._latest = open_fuzz_session(self.target, options)
        if self._listens and self.pid is None:
            self.process = find_listener(self.target.port)
            self._born = read_start_time(self.process) if self.process is not None else None
        return self._latest

    def revive(self, *, stuck: bool = False) -> bool:
        """Restart the target with the user's command, unless it recovered by itself.

        A stuck target without a command is left as it is.
        """
        if stuck and self.command is None:
            return _is_up(self.target, 0.0)
        if not stuck and _is_up(self.target, COMES_BACK_S if self._comes_back else 0.0):
            return True  # another worker, or whoever watches over it, was faster
        self._comes_back = self.is_shared
        return self.restart()

    def leave_alive(self) -> None:
        """Restart the target if it is dead and the user gave a command: a campaign has ended."""
        if self.can_restart:
            self.revive()

    def restart(self) -> bool:
        """Restart the target with the user's command."""
        return self.command is not None and self.command() and _is_up(self.target)


@dataclass(slots=True)
class ReferenceTarget:
    """A fuzz target that is the kit's own reference, started again whenever it has ended."""

    protocol: str
    options: FuzzSessionOptions
    extra: tuple[str, ...] = ()
    keys: tuple[tuple[str, str], ...] = ()
    brokers: BrokerClient | None = None
    last_words: LastWords = lambda: ""
    _running: EmbeddedReference | None = field(default=None, init=False)
    _latest: FuzzSession | None = field(default=None, init=False)

    @property
    def can_restart(self) -> bool:
        """True: the kit can always restart the reference."""
        return True

    may_restart = can_restart

    @property
    def pid(self) -> int | None:
        """The process id of the running reference."""
        return self._running.process.pid if self._running else None

    def open(self) -> FuzzSession:
        """Open a session; start the reference if it does not run."""
        if self._running is None or self._running.process.poll() is not None:
            self.revive()
        assert self._running is not None, "it was just started"
        options = replace(self.options, passing=True, patience=measured(self._latest))
        self._latest = open_fuzz_session(read_target(self._running.url, self.keys), options)
        return self._latest

    def revive(self, *, stuck: bool = False) -> bool:
        """End the reference and start another one."""
        self.close()
        self._running = start_alone(self.protocol, self.extra, brokers=self.brokers)
        return True

    def restart(self) -> bool:
        """End the reference and start it again with its data; return True if it runs again."""
        if self._running is None:
            return False
        self._running.end()
        folder, self._running = self._running.folder, None
        with contextlib.suppress(TargetUnreachable):
            self._running = start_alone(
                self.protocol, self.extra, brokers=self.brokers, folder=folder
            )
        return self._running is not None

    def leave_alive(self) -> None:
        """Do nothing: the reference ends with the campaign."""

    def close(self) -> None:
        """End the reference."""
        if self._running is not None:
            self._running.close()
            self._running = None


def measured(fuzz_session: FuzzSession | None) -> Patience | None:
    """Return the time limits that were measured in an earlier session, or None."""
    patience = fuzz_session.patience if fuzz_session is not None else None
    return None if patience is None or patience.is_assumed else patience


def start_alone(
    protocol: str,
    extra: Sequence[str] = (),
    *,
    brokers: BrokerClient | None = None,
    folder: tempfile.TemporaryDirectory[str] | None = None,
) -> EmbeddedReference:
    """Start a reference without a cluster, over TCP and HTTP.

    It is forked by the fork server of ``brokers``, or else a new process. It reads the data of an
    earlier reference in ``folder``, if one is given.

    Raises:
        TargetUnreachable: the reference did not report in time that it is ready.
    """
    folder = folder or tempfile.TemporaryDirectory(prefix="wireproof-fuzz-")
    places = ("--tcp", "127.0.0.1:0", "--http", "127.0.0.1:0", "--data", folder.name)
    options = (*places, *extra)
    if brokers is None:
        return await_ready(protocol, start_child(protocol, options, mute=True), folder)
    return await_ready(protocol, brokers.start(options, mute=True), folder)


def open_fuzz_session(target: Target, options: FuzzSessionOptions) -> FuzzSession:
    """Open a fuzz session on a target.

    Raises:
        UsageFault: the target has no address, or its protocol cannot be fuzzed.
    """
    opened = kit_part(target.protocol).open_fuzz_session
    if opened is None:
        raise UsageFault(f"{target.url}: protocol {target.protocol} cannot be fuzzed")
    if not target.host:
        raise UsageFault(f"{target.url}: fuzzing needs one node; give HOST:PORT")
    session = reach(target, lambda: opened(target, options))
    check_patience(target.protocol, session, lambda: session.patience)
    return session


def _is_up(target: Target, seconds: float = UP_WITHIN_S) -> bool:
    """Return True if the target accepts connections in time."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            connect((target.host, target.port), CONNECT_S).close()
        except OSError:
            if time.monotonic() >= deadline:
                return False
            time.sleep(POLL_S)
        else:
            return True
