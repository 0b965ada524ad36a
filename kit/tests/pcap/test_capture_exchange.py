"""Steps of a case as TCP segments: who speaks, in which order, with which numbers."""

from collections import defaultdict

from example_count import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from wireproof_kit.pcap.exchange import FIRST_PORT, SEGMENT, Exchange, Segment, address, segments
from wireproof_spec.step_notes import IN_TLS
from wireproof_spec.step_record import StepRecord

TARGET = ("127.0.0.1", 4150)


def step(kind: str, data: bytes = b"", note: str = "", conn: str = "A", at: int = 0) -> StepRecord:
    if kind == "open" and not note:
        note = "127.0.0.1:4150"
    return StepRecord(at, conn, kind, hex=data.hex(), length=len(data), note=note)


def made(*steps: StepRecord, about: str = "") -> list[Segment]:
    return list(segments(Exchange("nsq/x", steps, "127.0.0.1:4150", about)))


def shape(found: list[Segment]) -> list[str]:
    return [f"{'>' if each.by_kit else '<'}{each.flags}" for each in found]


OPENED = [">S", "<SA", ">A"]


def test_a_connection_opens_carries_and_ends() -> None:
    found = made(
        step("open", at=5),
        step("send", b"NOP\n", "NOP", at=10),
        step("receive", b"ok", at=20),
        step("close", note="by the kit", at=30),
    )

    assert shape(found) == [*OPENED, ">PA", "<PA", ">FA", "<A", "<FA", ">A"]
    assert [each.at_us for each in found] == [5, 5, 5, 10, 20, 30, 30, 30, 30]
    assert found[3].comments == ("nsq/x, step 2: A sends 4 bytes, NOP",)
    assert {each.to if each.by_kit else each.source for each in found} == {TARGET}


def test_the_target_ends_it() -> None:
    found = made(step("open"), step("close", note="by the target (end)"), step("close"))

    assert shape(found) == [*OPENED, "<FA", ">A", ">FA", "<A"]


def test_a_reset_ends_both_directions() -> None:
    found = made(step("open"), step("close", note="by the target (reset)"), step("close"))

    assert shape(found) == [*OPENED, "<RA"]


def test_half_a_close_leaves_the_other_direction() -> None:
    found = made(
        step("open"),
        step("close", note="sending direction only"),
        step("receive", b"late"),
        step("close", note="by the kit"),
    )

    assert shape(found) == [*OPENED, ">FA", "<A", "<PA", "<FA", ">A"]


def test_what_is_still_open_is_ended_and_said_to_be() -> None:
    found = made(step("open"), step("send", b"x"))

    assert shape(found)[-4:] == [">FA", "<A", "<FA", ">A"]
    assert found[-1].comments == ("nsq/x, A: still open when the record ends",)


def test_an_http_exchange_needs_no_open_and_goes_to_its_host() -> None:
    request = b"GET / HTTP/1.1\r\nHost: 127.0.0.1:4151\r\n\r\n"
    found = made(
        step("request", request, "GET /"), step("response", b"HTTP/1.1 200 OK\r\n\r\n", "200")
    )

    assert shape(found) == [*OPENED, ">PA", "<PA", "<FA", ">A", ">FA", "<A"]
    assert found[0].to == ("127.0.0.1", 4151)
    assert made(step("request", b"?"))[0].to == TARGET


def test_long_data_is_cut_and_each_piece_says_which_it_is() -> None:
    found = made(step("open"), step("send", bytes(SEGMENT + 1)))[3:5]

    assert [len(each.data) for each in found] == [SEGMENT, 1]
    assert [each.flags for each in found] == ["A", "PA"]
    assert found[1].comments[0].endswith("(segment 2 of 2)")


def test_notes_are_said_on_the_next_packet_and_tls_is_said_all_along() -> None:
    note = step("note", note=f"{IN_TLS} (TLSv1.3)")
    found = made(step("open"), note, step("send", b"x"), about="why")

    assert found[0].comments[0] == "why"
    assert found[3].comments[0] == f"nsq/x, step 2: A notes, {IN_TLS} (TLSv1.3)"
    assert found[3].comments[1].endswith("(in TLS on the wire, in the clear here)")


def test_addresses() -> None:
    assert address("[::1]:80") == ("::1", 80)
    assert address("localhost:1") == ("127.0.0.1", 1)
    assert address("broker.example:4150") == ("192.0.2.2", 4150)
    assert address("") == ("192.0.2.2", 0)
    assert address("127.0.0.1:65536") == ("127.0.0.1", 0)
    assert address("127.0.0.1:" + "9" * 5000) == ("127.0.0.1", 0)
    assert made(step("open", note="10.1.2.3:4150"))[0].source[0] == "192.0.2.1"
    assert made(step("open", note="[::1]:4150"))[0].source[0] == "::1"


def test_no_connection_goes_from_a_port_to_itself() -> None:
    found = made(step("open", note=f"127.0.0.1:{FIRST_PORT}"))

    assert found[0].source == ("127.0.0.1", FIRST_PORT + 1)


NOTES = ["by the kit", "by the target (end)", "by the target (reset)", "sending direction only"]
STEPS = st.lists(
    st.builds(step, st.just("open"), conn=st.sampled_from("AB"))
    | st.builds(
        step,
        st.sampled_from(["send", "receive", "request", "response"]),
        st.binary(max_size=9) | st.just(bytes(SEGMENT + 1)),
        conn=st.sampled_from("AB"),
        at=st.integers(0, 99),
    )
    | st.builds(step, st.just("close"), note=st.sampled_from(NOTES), conn=st.sampled_from("AB"))
    | st.builds(step, st.sampled_from(["note", "text"]), note=st.just("n")),
    max_size=12,
)


@settings(max_examples=examples(300), deadline=None)
@given(STEPS)
def test_whatever_the_steps_every_number_fits(steps: list[StepRecord]) -> None:
    streams: defaultdict[object, list[Segment]] = defaultdict(list)
    for segment in made(*steps):
        streams[frozenset((segment.source, segment.to))].append(segment)

    for stream in streams.values():
        check(stream)
    times = [each.at_us for stream in streams.values() for each in stream]
    assert all(isinstance(at, int) for at in times)


def check(stream: list[Segment]) -> None:
    """Follow both ends: each number continues the last, nothing comes after an end."""
    due = {side: next(s.seq for s in stream if s.by_kit == side) for side in (True, False)}
    ended: set[bool] = set()
    for each in stream:
        side = each.by_kit
        assert each.seq == due[side]
        due[side] += len(each.data) + ("S" in each.flags or "F" in each.flags)
        assert "A" not in each.flags or each.ack == due[not side]
        if each.data or "F" in each.flags:
            assert side not in ended
        if "F" in each.flags:
            ended.add(side)
        if "R" in each.flags:
            assert each is stream[-1]
            return
    assert ended == {True, False}
