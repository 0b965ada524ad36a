"""A delivered message, matched with the publishes that may explain it."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Final

from wireproof_kit.ledger.entries import Digest, Entries, Entry, Place
from wireproof_kit.nsq.broker import WITH_OFFSET
from wireproof_kit.nsq.ledger.events import Delivered, Subscription
from wireproof_kit.nsq.ledger.publishes import Content
from wireproof_kit.nsq.observe.delivery import LAYOUTS, Layout
from wireproof_spec.nsq.message import Message
from wireproof_spec.wire_error import WireError

TOKEN: Final = re.compile(rb"wp:[0-9a-f]{10}:[0-9]+;")
"""What makes a body of the kit unique, see `Bodies`."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """A message frame, decoded in the layout in which a published body was found in it.

    ``entries`` are the publishes that may explain it. ``altered`` is True if none has its body,
    but one has the same token or the same internal id.
    """

    event: Delivered
    layout: Layout
    message: Message
    entries: tuple[Entry[Content], ...]
    altered: bool = False

    @property
    def by(self) -> Subscription:
        """The subscription on which it came."""
        return self.event.by

    @property
    def at(self) -> Place:
        """Where it was delivered."""
        return self.event.at

    @property
    def has_ext(self) -> bool:
        """True if the message must have the ext part, or has it where either layout is right."""
        due = None if self.event.is_upgraded else self.by.has_ext
        if due is not None:
            return due
        # Bytes that cannot be read begin as any layout does: the header says that there is one.
        return self.layout.extend or (self.altered and self.may_have_ext)

    @property
    def may_have_ext(self) -> bool:
        """True if the ext part is due, or may be there, since a header was published."""
        has_header = any(entry.content.header for entry in self.entries)
        return self.by.has_ext is True or (self.event.is_upgraded and has_header)

    @property
    def is_placed(self) -> bool:
        """True if its offset and size are those of the answer to its publish."""
        place = self.message.disk_queue_offset, self.message.disk_queue_data_size
        answers = (entry.content.answer for entry in self.entries)
        return any(
            answer is not None and place == (answer.disk_queue_offset, answer.disk_queue_data_size)
            for answer in answers
        )


@dataclass(slots=True)
class Matcher:
    """Matches deliveries with entries."""

    entries: Entries[Content] = field(default_factory=Entries[Content])
    unmatched: int = 0
    _lengths: dict[str, set[int]] = field(default_factory=dict[str, set[int]])
    """The lengths of the bodies published to each topic."""

    def add(self, entry: Entry[Content], token: bytes | None) -> None:
        """Add an entry whose answer is known."""
        content = entry.content
        self._lengths.setdefault(content.topic, set()).add(content.body.length)
        keys: list[tuple[object, ...]] = [("body", content.topic, content.body)]
        if token is not None:
            keys.append(("token", token))
        if content.answer is not None:
            keys.append(("id", content.topic, content.answer.internal_id))
        self.entries.add(entry, keys)

    def learn(self, delivery: Delivery, entry: Entry[Content]) -> None:
        """Note with which id a message came on a channel: it may come again with another body."""
        key = _came(delivery.by, delivery.message)
        if not self.entries.find([key]):
            self.entries.add(entry, [key])

    def match(self, event: Delivered) -> Delivery | None:
        """Return a delivery with what may explain it; None if nothing does for certain."""
        found = [*self._find_all(event)]
        if any(each.entries != found[0].entries for each in found):
            # The bytes are one body in one layout and another one in another: all zeros, say.
            self.unmatched += 1
            return None
        # Version 0 alone, then offset and size: the same bytes are another offset and size that
        # come first. What the answer to the publish said tells which.
        placed = next((each for each in found if each.is_placed), found[0] if found else None)
        return placed or self._match_altered(event)

    def is_foreign(self, event: Delivered) -> bool:
        """Return True for a whole message with neither a published body nor a token of the kit."""
        is_message = any(_read(layout, event.data) for layout in due_layouts(event.by))
        has_body = bool(TOKEN.search(event.data)) or any(True for _ in self._find_all(event))
        return is_message and not has_body and not self._ends_as_published(event)

    def _ends_as_published(self, event: Delivered) -> bool:
        """Return True if the bytes end with a published body, whatever is before it."""
        data, topic = event.data, event.by.topic
        ends = (data[len(data) - each :] for each in self._lengths.get(topic, ()) if each)
        return any(self.entries.find([("body", topic, Digest.of(end))]) for end in ends)

    def _find_all(self, event: Delivered) -> Iterator[Delivery]:
        """Yield the deliveries that the bytes may be, in each layout in which a body fits."""
        lengths = self._lengths.get(event.by.topic, ())
        for layout in due_layouts(event.by):
            message = _read(layout, event.data)
            if message is None or len(message.body) not in lengths:
                continue
            found = self.entries.find([("body", event.by.topic, Digest.of(message.body))])
            if found:
                yield Delivery(event, layout, message, tuple(found))

    def _match_altered(self, event: Delivered) -> Delivery | None:
        layout, message = next(
            (
                (due_layout, read)
                for due_layout in due_layouts(event.by)
                if (read := _read(due_layout, event.data))
            ),
            (None, None),
        )
        tokens = set(TOKEN.findall(event.data))
        found: list[Entry[Content]] = []
        if len(tokens) == 1:
            found = self.entries.find([("token", tokens.pop())])
        if not found and message is not None:
            # Each partition of a topic counts by itself.
            found = [
                entry
                for entry in self.entries.find([("id", event.by.topic, message.internal_id)])
                if None in (entry.content.partition, event.by.partition)
                or entry.content.partition == event.by.partition
            ]
        if not found and message is not None:
            found = self.entries.find([_came(event.by, message)])
        if len(found) != 1 or layout is None or message is None:
            self.unmatched += 1
            return None
        return Delivery(event, layout, message, tuple(found), altered=True)


def _came(by: Subscription, message: Message) -> tuple[object, ...]:
    return "came", *by.place, by.partition, message.internal_id


def token_of(body_head: bytes) -> bytes | None:
    """Return the token of a body of the kit; None if there is none or several."""
    found = TOKEN.findall(body_head)
    return found[0] if len(found) == 1 else None


def due_layouts(by: Subscription) -> Sequence[Layout]:
    """Return all layouts, those first that a subscription is owed."""
    return _sorted_layouts(ordered=by.command in WITH_OFFSET, extended=by.extended)


@cache
def _sorted_layouts(*, ordered: bool, extended: bool) -> Sequence[Layout]:
    return sorted(LAYOUTS, key=lambda each: (each.ordered != ordered, each.extend != extended))


def _read(layout: Layout, data: bytes) -> Message | None:
    try:
        return layout.read(data)
    except WireError:
        return None
