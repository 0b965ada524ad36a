"""What a real server of generation `apache` was recorded to do, the reference does too."""

from collections.abc import Mapping

from apache_bench import Bench, Client, message, sending
from check_each import check_each

from wireproof_reference_impl.iggy.presets import overrides
from wireproof_reference_impl.overrides import apply_overrides
from wireproof_spec.iggy import golden
from wireproof_spec.iggy.apache import operations
from wireproof_spec.iggy.apache.frames import encode_request, make_request
from wireproof_spec.iggy.apache.header import RequestHeader
from wireproof_spec.iggy.golden import TcpScenario, TcpStep, Varying

AS_DEPLOYED = ("silent-refusals", "unchecked-offset-deltas")
LONGEST = 2_000_000
"""Bytes of the longest request that is sent again: 60 MB take a second each."""

Numbers = dict[int, int]
"""Our sessions or times by the recorded ones."""


class Replay:
    """One scenario: the clients in it, and what stands for the recorded numbers."""

    def __init__(self) -> None:
        self.bench = Bench()
        self.clients: dict[str, Client] = {}
        self.sessions: Numbers = {0: 0}
        self.times: Numbers = {}

    def client(self, name: str) -> Client:
        if name not in self.clients:
            self.clients[name] = self.bench.connect()
        return self.clients[name]

    def asked(self, step: TcpStep) -> bytes:
        if step.length:
            return large(self.sessions, step.length)
        data = bytearray(step.data)
        for each in step.varies:
            place = slice(each.offset, each.offset + each.length)
            recorded = int.from_bytes(data[place], "little")
            ours = self.sessions.get(recorded) if each.name == "session" else self.time(recorded)
            if ours is not None:
                data[place] = ours.to_bytes(each.length, "little")
        return bytes(data)

    def time(self, recorded: int) -> int:
        near = [each for each in self.times if abs(each - recorded) <= 1]
        return self.times[near[0]] + recorded - near[0] if near else recorded

    def compared(self, found: bytes, step: TcpStep) -> tuple[bytes, bytes]:
        ours, theirs = bytearray(found), bytearray(step.data)
        for each in step.varies:
            place = slice(each.offset, each.offset + each.length)
            kept = self.kept(each)
            if kept is not None:
                recorded = int.from_bytes(theirs[place], "little")
                kept[recorded] = int.from_bytes(ours[place], "little")
            ours[place] = theirs[place] = bytes(each.length)
        return bytes(ours), bytes(theirs)

    def kept(self, varying: Varying) -> Numbers | None:
        known: Mapping[str, Numbers] = {
            "session": self.sessions,
            "base_timestamp": self.times,
        }
        return known.get(varying.name)


def large(sessions: Numbers, length: int) -> bytes:
    session = max(sessions.values())
    header = RequestHeader(
        client=1, operation=operations.SEND_MESSAGES, session=session, request=2
    )
    return encode_request(make_request(header, sending(message(bytes(length)))))


def is_short(scenario: TcpScenario) -> bool:
    return all(step.length <= LONGEST for step in scenario.steps)


@check_each(filter(is_short, golden.apache_tcp()), lambda scenario: scenario.name)
def test_tcp_scenario_is_repeated(scenario: TcpScenario) -> None:
    replay = Replay()
    with apply_overrides(overrides((), AS_DEPLOYED)):
        for step in scenario.steps:
            client = replay.client(step.connection)
            if step.direction == "c2s":
                assert not client.closed
                client.send(replay.asked(step))
            elif step.direction == "s2c":
                at = len(step.data)
                replayed = client.pending + client.take()
                client.pending = replayed[at:]
                ours, theirs = replay.compared(replayed[:at], step)
                assert ours == theirs, step.note
            else:
                assert client.take() == b"", step.note
                assert client.closed == (step.direction == "close")
    assert all(each.take() == b"" for each in replay.clients.values())
