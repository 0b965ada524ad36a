from wireproof_reference_impl.nsq.core.backlog import Backlog
from wireproof_reference_impl.nsq.core.log import MemoryLog
from wireproof_reference_impl.nsq.wire import record
from wireproof_reference_impl.nsq.wire.message import Message, NewMessage

MANY = 5000


def stored(log: MemoryLog, number: int) -> Message:
    data = record.build(
        NewMessage(b"%d" % number), 1, internal_id=number + 1, extend=True, version=4
    )
    offset = log.append(data)
    return record.read(data, offset, log.count - 1)


def backlog_of(log: MemoryLog, *, offset: int = 0, number: int = 0) -> Backlog:
    return Backlog(log, offset=offset, number=number, read=record.read)


def drained(backlog: Backlog) -> list[int]:
    numbers = []
    while window := backlog.list_upcoming():
        numbers.append(window.popleft().number)
    return numbers


def test_messages_come_in_order_though_only_a_window_is_held() -> None:
    log = MemoryLog()
    backlog = backlog_of(log)
    for number in range(MANY):
        backlog.add(stored(log, number))

    assert backlog.depth == MANY
    assert len(backlog.list_upcoming()) < MANY
    assert drained(backlog) == list(range(MANY))
    assert backlog.depth == 0
    assert (backlog.offset, backlog.number) == (log.end, MANY)


def test_messages_added_while_others_wait_in_the_log_keep_their_order() -> None:
    log = MemoryLog()
    backlog = backlog_of(log)
    for number in range(MANY):
        backlog.add(stored(log, number))
    for _ in range(MANY - 10):
        backlog.list_upcoming().popleft()
    backlog.add(stored(log, MANY))

    assert drained(backlog) == list(range(MANY - 10, MANY + 1))


def test_a_backlog_starts_where_it_is_told() -> None:
    log = MemoryLog()
    messages = [stored(log, number) for number in range(5)]
    backlog = backlog_of(log, offset=messages[2].offset, number=2)

    assert (backlog.offset, backlog.number, backlog.depth) == (messages[2].offset, 2, 3)
    assert drained(backlog) == [2, 3, 4]


def test_skipping_to_the_end_forgets_what_waits() -> None:
    log = MemoryLog()
    backlog = backlog_of(log)
    backlog.add(stored(log, 0))
    backlog.skip_to_end()
    backlog.add(stored(log, 1))

    assert drained(backlog) == [1]
