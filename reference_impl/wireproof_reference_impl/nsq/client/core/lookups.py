"""The lookup process: which lookup servers are asked, when, and what is known afterwards.

In rounds. Each begins with /listlookup, which names all lookup servers, and goes on with /lookup
at each of them; what they answer is merged. A round follows another after the interval, sooner if
no node was found, and at once if somebody has asked for a refresh.
"""

from collections.abc import Callable
from urllib.parse import urlencode

from wireproof_reference_impl.nsq.client.core.effects import Address, Fetched
from wireproof_reference_impl.nsq.client.core.host import Alarm, Host
from wireproof_reference_impl.nsq.client.core.settings import Settings
from wireproof_reference_impl.nsq.client.core.topology import (
    BadAnswer,
    Topology,
    merge,
    read_listlookup,
    read_lookup,
)
from wireproof_spec.nsq.names import V1_ACCEPT

WRITE, READ = "w", "r"
_OK, _NOT_FOUND = 200, 404
_MOST_SKIPPED = 8


class Lookups:
    """The repeated lookups of one topic, for a producer (`WRITE`) or a consumer (`READ`)."""

    def __init__(
        self, host: Host, settings: Settings, topic: str, access: str, notify: Callable[[], None]
    ) -> None:
        self.topology = Topology()
        """What all lookup servers know together, since the last round."""
        self._host = host
        self._settings = settings
        self._topic = topic
        self._access = access
        self._notify = notify
        self._listed: tuple[str, ...] = ()
        self._answers: dict[str, Topology] = {}
        self._failures: dict[str, int] = {}
        self._asked_again: dict[str, int] = {}
        self._round = 0
        self._rounds_in_vain = 0
        self._began = 0.0
        self._pending: set[str] | None = None
        self._waiting: list[Callable[[], None]] = []
        self._served: list[Callable[[], None]] = []
        self._alarm: Alarm | None = None
        self._stopped = False

    def start(self) -> None:
        """Begin the first round of lookups."""
        self._begin()

    def stop(self) -> None:
        """Send no more requests to lookup servers."""
        self._stopped = True
        self._waiting.clear()
        if self._alarm is not None:
            self._alarm.cancel()

    def refresh(self, then: Callable[[], None]) -> None:
        """Begin a round of lookups as soon as permitted, and call `then` when it is over.

        Of a round under way some answers may be old; of the first nothing is.
        """
        if self._pending is not None and self._round == 1:
            self._served.append(then)
            return
        self._waiting.append(then)
        if self._pending is None:
            self._plan(gap(self._settings, self._host.now - self._began))

    def _plan(self, delay_s: float) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
        if not self._stopped:
            self._alarm = self._host.after(delay_s, self._begin)

    def _begin(self) -> None:
        self._round += 1
        self._began = self._host.now
        self._pending = set()
        self._served, self._waiting = self._waiting, []
        self._list(sorted(self._settings.lookupd, key=lambda each: self._failures.get(each, 0)))

    def _list(self, candidates: list[str]) -> None:
        """Ask the first candidate for all lookup servers, or the next one if it fails."""
        if not candidates:
            self._look_up()
            return
        address, *others = candidates

        def take(answer: Fetched | None) -> None:
            try:
                if answer is not None and answer.status == _OK:
                    self._listed = read_listlookup(answer.body)
                    self._look_up()
                    return
            except BadAnswer as error:
                self._host.log(f"listlookup at {address}: {error}")
            if answer is None:
                self._note_failure(address)
            self._list(others)

        self._fetch(address, list_target(), take)

    def _look_up(self) -> None:
        if self._stopped:
            return
        asked = choose_servers(self._known(), self._asked_again, self._round)
        self._pending = set(asked)
        for address in asked:
            self._look_up_at(address)

    def _known(self) -> tuple[str, ...]:
        """Return the lookup servers: those listed and, in any event, those configured."""
        return known_servers(self._listed, self._settings.lookupd)

    def _look_up_at(self, address: str) -> None:
        def take(answer: Fetched | None) -> None:
            topology = self._read(address, answer)
            if topology is None:
                self._note_failure(address)
            else:
                self._answers[address] = topology
                self._failures[address] = 0
            self._done(address)

        self._fetch(address, lookup_target(self._topic, self._access), take)

    def _read(self, address: str, answer: Fetched | None) -> Topology | None:
        if answer is None:
            return None
        if answer.status == _NOT_FOUND:
            return Topology()  # it works, and does not know the topic
        if answer.status != _OK:
            return None
        try:
            return read_lookup(answer.body)
        except BadAnswer as error:
            self._host.log(f"lookup at {address}: {error}")
            return None

    def _note_failure(self, address: str) -> None:
        """Ask a server that has failed too often only in every so many rounds."""
        self._failures[address] = self._failures.get(address, 0) + 1
        skipped = skip(self._failures[address], self._settings)
        self._asked_again[address] = self._round + 1 + skipped

    def _done(self, address: str) -> None:
        if self._pending is None:
            return
        self._pending.discard(address)
        if self._pending or self._stopped:
            return
        self._pending = None
        known = self._known()
        # A server that fails for a moment still counts with what it said before.
        self.topology = merge(self._answers[each] for each in known if each in self._answers)
        self._rounds_in_vain = 0 if self.topology.places else self._rounds_in_vain + 1
        self._plan(self._delay())
        self._notify()
        served, self._served = self._served, []
        for then in served:
            then()

    def _delay(self) -> float:
        """Return how long to wait before the next round."""
        since = self._host.now - self._began
        if self._waiting:
            return gap(self._settings, since)
        if self._rounds_in_vain:
            return retry_delay(self._settings, self._rounds_in_vain)
        return max(interval(self._settings, self._host) - since, 0.0)

    def _fetch(self, address: str, target: str, take: Callable[[Fetched | None], None]) -> None:
        def take_unless_stopped(answer: Fetched | None) -> None:
            if not self._stopped:
                take(answer)

        self._host.fetch(
            split_address(address),
            target,
            take_unless_stopped,
            accept=V1_ACCEPT,
            within_s=self._settings.lookup_timeout_s,
        )


def list_target() -> str:
    """Return the HTTP target of a /listlookup request."""
    return "/listlookup"


def lookup_target(topic: str, access: str) -> str:
    """Return the HTTP target of a /lookup request.

    Consumers ask for metainfo too, which the text does not need of them: it tells whether the
    topic has headers, and so what they must say of themselves.
    """
    return f"/lookup?{urlencode({'topic': topic, 'access': access, 'metainfo': 'true'})}"


def known_servers(listed: tuple[str, ...], configured: tuple[str, ...]) -> tuple[str, ...]:
    """Return the addresses of all lookup servers, listed and configured ones, each once."""
    return tuple(dict.fromkeys([*listed, *configured]))


def choose_servers(
    known: tuple[str, ...], asked_again: dict[str, int], this_round: int
) -> tuple[str, ...]:
    """Return the lookup servers to ask in a round; all of them if each has failed too often.

    `asked_again` maps a server to the round from which it is asked again.
    """
    chosen = tuple(each for each in known if asked_again.get(each, 0) <= this_round)
    return chosen or known


def skip(failures: int, settings: Settings) -> int:
    """Return for how many rounds a lookup server is not asked after so many failures in a row."""
    return min(max(failures - settings.lookup_failures, 0), _MOST_SKIPPED)


def interval(settings: Settings, host: Host) -> float:
    """Return the seconds between two rounds of lookups, varied a little at random."""
    jitter = settings.lookup_jitter * host.random.uniform(-1, 1)
    return settings.lookup_interval_s * (1 + jitter)


def retry_delay(settings: Settings, rounds_in_vain: int) -> float:
    """Return the seconds before the next round of lookups if no round so far has found a node."""
    doubled = settings.lookup_retry_s * 2.0 ** min(rounds_in_vain - 1, 16)
    return min(doubled, settings.lookup_interval_s)


def gap(settings: Settings, since_s: float) -> float:
    """Return the seconds to wait before a refresh, `since_s` after the last round began."""
    return max(settings.lookup_gap_s - since_s, 0.0)


def split_address(text: str) -> Address:
    """Return host and port of HOST:PORT."""
    host, _, port = text.rpartition(":")
    return host.strip("[]"), int(port) if port.isdecimal() else 0
