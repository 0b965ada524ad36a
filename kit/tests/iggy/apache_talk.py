"""A transcript of one connection to a server of generation apache, written by hand."""

from msgspec.structs import replace

from wireproof_kit.iggy.apache import requests
from wireproof_kit.iggy.apache.ledger import ApacheLedger
from wireproof_kit.iggy.apache.requests import Polling, Topic
from wireproof_kit.wire.outgoing import Outgoing
from wireproof_kit.wire.transcript import Transcript
from wireproof_spec.decoding import encode
from wireproof_spec.iggy.apache import operations
from wireproof_spec.iggy.apache.batch import Batch, seal_batch
from wireproof_spec.iggy.apache.bodies.results import CONFIRMATIONS, Confirmation, Confirmations
from wireproof_spec.iggy.apache.envelope import PollHead
from wireproof_spec.iggy.apache.envelopes import OWN
from wireproof_spec.iggy.apache.frames import encode_answer, make_reply
from wireproof_spec.iggy.apache.header import ReplyHeader, RequestHeader
from wireproof_spec.iggy.apache.polled import Polled, encode_polled
from wireproof_spec.iggy.bodies.partitioning import partition_id

TOPIC = Topic(0, "wp_stream", 3, "wp_topic_3")
CLIENT = 77
TIME_US = 1_700_000_000_000_000


class Talk:
    """A transcript of one connection, written by hand."""

    def __init__(self) -> None:
        self.transcript = Transcript()
        self.number = 0

    def ask(self, operation: int, body: Outgoing, *, code: int = 0) -> RequestHeader:
        """Record a request, and return its header."""
        self.number += 1
        header = RequestHeader(
            client=CLIENT, request=self.number, operation=operation, session=1, code=code
        )
        outgoing = requests.frame(header, body)
        self.transcript.add("send", "A", data=outgoing.data)
        return header

    def reply(self, asked: RequestHeader, body: bytes = b"", **fields: int) -> None:
        """Record the reply to a request."""
        header = ReplyHeader(client=CLIENT, request=asked.request, operation=asked.operation)
        reply = make_reply(replace(header, **fields), body)
        self.transcript.add("receive", "A", data=encode_answer(reply))

    def send(self, sent: Batch) -> None:
        """Record a send that is confirmed."""
        body = requests.send_body(TOPIC.by_number, partition_id(0), sent)
        asked = self.ask(operations.SEND_MESSAGES, body)
        confirmed = Confirmations((Confirmation(0, 3, 0, 0),))
        self.reply(asked, encode(CONFIRMATIONS, confirmed))

    def poll(
        self,
        *polled: Batch,
        count: int | None = None,
        partition: int = 0,
        polling: Polling | None = None,
    ) -> None:
        """Record a poll and the batches that it returned."""
        body = requests.poll_body(TOPIC.by_number, 0, polling or Polling())
        asked = self.ask(operations.NON_REPLICATED, body, code=operations.POLL_MESSAGES)
        frames = sum(len(each.frames) for each in polled)
        head = PollHead(partition, 2, frames if count is None else count)
        self.reply(asked, encode_polled(OWN, Polled(head, polled)))

    def broken(self) -> dict[str, str]:
        """Return what the ledger concludes to be broken: clause and observation."""
        ledger = ApacheLedger(OWN)
        ledger.read("iggy/apache/case", self.transcript.steps())
        return {
            each.clause.removeprefix("iggy.apache."): each.finding.value
            for each in ledger.conclude()
            if each.finding is not None
        }


def stamped(sent: Batch) -> Batch:
    header = replace(sent.header, base_timestamp=TIME_US + 1)
    return seal_batch(Batch(header, sent.frames))
