"""Batches on disk."""

from wireproof_kit.case import case
from wireproof_kit.iggy.apache.batches import message
from wireproof_kit.iggy.apache.disk import damage_log, wait_for_log
from wireproof_kit.iggy.apache.observe import observe, observe_unread
from wireproof_kit.iggy.apache.requests import Polling, Topic
from wireproof_kit.iggy.apache.server import ApacheServer
from wireproof_kit.observation import Observation, observed
from wireproof_spec.decoding import encode
from wireproof_spec.iggy.apache.batch import BATCH
from wireproof_suites.iggy.apache import steps

BATCHES = (3, 1)


@case("iggy/apache/disk/layout", clause="iggy.apache.disk.layout")
def test_layout(apache: ApacheServer, apache_topic: Topic) -> Observation:
    """A stored record has the bytes of the polled one."""
    sent = steps.store(apache, apache_topic, BATCHES)
    polled = apache.poll_all(apache_topic)
    records = b"".join(encode(BATCH, each) for each in polled.batches)
    log = wait_for_log(apache, apache_topic, sent[-1].payload)
    if sent[-1].payload not in log:
        return observed("missing", note=f"{len(log)} bytes are stored")
    if len(polled.batches) != len(BATCHES):
        return observed("stored:unlike-polls").on(
            polled
        )  # no text says in which records a poll returns
    return observed("stored:as-polled" if records in log else "stored:other").on(polled)


@case("iggy/apache/disk/damaged", clause="iggy.apache.disk.damaged", hazard=True)
def test_damaged(apache: ApacheServer, apache_topic: Topic) -> Observation:
    """A damaged record is not served as a sound one, nor as the end of the partition."""
    sent = message(b"message to damage"), message(b"message behind it")
    for each in sent:
        apache.send_accepted(apache_topic, each)
    offsets = apache.poll_all(apache_topic).offsets
    if sent[-1].payload not in wait_for_log(apache, apache_topic, sent[-1].payload):
        return observed("missing", note="the messages are not in the log")
    damage_log(apache, apache_topic, sent[0].payload)
    polled = apache.poll(apache_topic, Polling(value=offsets[0], count=1))
    behind = apache.poll(apache_topic, Polling(value=offsets[1], count=1))
    if polled.body is None:
        return observe_unread(polled) or observe(polled.answer)
    if sent[0].payload in polled.payloads:
        return observed("delivered:as-sent").on(polled)
    if polled.frames and sent[1].payload not in polled.payloads:
        return observed("delivered:damaged").on(polled)
    if sent[1].payload in (*polled.payloads, *behind.payloads):
        return observed("delivered:rest").on(polled, behind)
    return observed("delivered:none", note="nor what is stored behind it").on(polled, behind)
