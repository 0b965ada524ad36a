"""Pipelined PUBs: stored together, they differ in nothing from PUBs stored one by one."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st
from nsq_bench import START, Bench, pub, sized

from wireproof_reference_impl.nsq import presets
from wireproof_reference_impl.nsq.core.commands import publish, publish_pipelined
from wireproof_reference_impl.nsq.core.commands.table import handlers
from wireproof_reference_impl.nsq.core.connection import Connection
from wireproof_reference_impl.nsq.core.log import Log, MemoryLog, MemoryStorage
from wireproof_reference_impl.nsq.wire.limits import Limits
from wireproof_reference_impl.overrides import apply_overrides
from wireproof_spec.nsq.names import MAGIC, PUB

MOST = 20
FRAMES = st.sampled_from(
    [
        pub("t", b"a"),
        pub("t", b"bb"),
        pub("t", bytes(MOST)),
        pub("t", bytes(MOST + 1)),
        pub("t", b""),
        pub("t", b"c", partition="-1"),
        pub("t", b"d", partition="1"),
        pub("u", b"e"),
        pub("none", b"f"),
        b"PUB t 0\r\n" + sized(b"g"),
        b"PUB t 0\n\xff\xff\xff\xff",
        b"PUB t 0\n" + sized(b"PUB t 0\n" + sized(b"h"))[:17],
        b"MPUB t 0\n" + sized((1).to_bytes(4) + sized(b"i")),
        b"NOP\n",
        b"WHAT\n",
    ]
)
CONVERSATIONS = st.lists(st.tuples(FRAMES, st.integers(1, 6)), max_size=6)


def _conversation(chunks: Sequence[bytes], *, in_rows: bool) -> tuple[bytes, list[bytes], bool]:
    """Return what is answered, what is stored, and whether the connection is over."""
    bench = Bench(limits=Limits(message=MOST))
    bench.topic("t", extend=False)
    bench.topic("u", extend=True)
    table = handlers(bench.node.behaviour)
    if not in_rows:
        table = {**table, PUB: publish.pub}
    link = Connection(bench.node, table, START)
    for chunk in (MAGIC, *chunks):
        link.receive(chunk, START)
    logs = [bench.node.topics[name].partitions[0].log for name in ("t", "u")]
    stored = [record for log in logs for _, record in log.read_from(0)]
    return link.take_output(), stored, link.closed


@given(CONVERSATIONS, st.lists(st.integers(1, 60), min_size=1, max_size=5))
def test_rows_make_no_difference(conversation: list[tuple[bytes, int]], cuts: list[int]) -> None:
    stream = b"".join(frame * times for frame, times in conversation)
    chunks = [stream]
    for cut in cuts:
        chunks[-1:] = [chunks[-1][:cut], chunks[-1][cut:]]
    taken = _conversation(chunks, in_rows=True)
    assert taken == _conversation(chunks, in_rows=False)


class _Counting(MemoryLog):
    """Counts how often it is written to; refuses to keep more than `most` records at a time."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self.writes = 0
        self._most = most

    def append_all(self, records: Sequence[bytes]) -> int:
        self.writes += 1
        if len(records) > self._most:
            raise OSError("full")
        return super().append_all(records)


class _Storage(MemoryStorage):
    def __init__(self, most: int) -> None:
        self._most = most

    def open_log(self, topic: str, partition: int) -> Log:
        return _Counting(self._most)


def _writes(most: int) -> tuple[int, int, int]:
    """Return of 50 publishes how often was written, how many are stored and how many answered."""
    bench = Bench(storage=_Storage(most))
    log = bench.node.create("t", range(1), extend=False, ordered=False).partitions[0].log
    assert isinstance(log, _Counting)
    client = bench.connect()
    client.send(pub("t", b"first"))
    client.send(pub("t", b"x") * 49)
    answers = client.link.take_output()
    return log.writes, log.count, answers.count(b"\0\0\0\6\0\0\0\0OK")


def test_a_row_is_written_at_once() -> None:
    assert _writes(most=1000) == (2, 50, 50)


def test_a_row_that_cannot_be_kept_is_tried_one_by_one() -> None:
    writes, stored, answered = _writes(most=1)
    assert (stored, answered) == (50, 50)
    assert writes > 50


def test_behaviours_that_look_at_single_publishes_take_no_rows() -> None:
    published = presets.build("published", fault_names=(), variant_names=())
    assert publish_pipelined.fits(published)
    assert publish_pipelined.fits(presets.build("deployed", fault_names=(), variant_names=()))
    for name in ("partition-first-for-all", "pub-ok-with-line-feed", "second-frame-dropped"):
        with apply_overrides(presets.overrides([name])):
            assert not publish_pipelined.fits(published), name
