"""A broker that is killed keeps what it promised; one that promises too early is found out."""

import os
import random
from pathlib import Path

import pytest
from crash_ledger import Broken
from crash_run import SERVE, CrashRun

pytestmark = [pytest.mark.process, pytest.mark.long]

KILLS = int(os.environ.get("WIREPROOF_KILLS", "20"))
ENOUGH = 60
MOSTLY_LONG, SHORT = 0.9, 0.0
"""Positions are kept once a second: a long load has some, a channel made in a short one none."""
ANYTHING = "after kill [1-9]"
"""What shows of records at wrong places depends on where the kill came; a broker that never
started (kill 0) was not found out."""

REPLACE = """
from wireproof_reference_impl.overrides import apply, replace_function
def replace(owner, name, value):
    apply((replace_function(owner, name, value),))
"""
"""A name that is gone keeps a broker from starting, which is not what is to be found out."""

LATE_WRITE = """
from wireproof_reference_impl.nsq.storage.file import QueueFile
write = QueueFile.write
def late(self, data):
    held = self.__dict__.setdefault("held", [])
    held.append(data)
    if len(held) == 5:
        write(self, b"".join(held))
        held.clear()
QueueFile.write = late
"""
TAIL_KEPT = """
from wireproof_reference_impl.nsq.storage import recovery
replace(recovery.os, "truncate", lambda path, size: None)
"""
POSITION_LEADS = """
from wireproof_reference_impl.nsq.core.channel import Channel
replace(Channel, "read_confirmed", lambda self: (self.backlog.offset, self.backlog.number))
"""
CHANNEL_LATE = """
from wireproof_reference_impl.nsq.storage.disk_storage import DiskStorage
replace(DiskStorage, "add_channel", lambda self, topic, partition, name, place: None)
"""
IDS_AGAIN = """
from wireproof_reference_impl.nsq.core.topic import Partition
replace(Partition, "_id_after", lambda self, count: 1)
"""
NOTED_END_TRUSTED = """
from wireproof_reference_impl.nsq.storage import recovery
def noted(folder, recovered):
    return folder.read_writer_meta() or recovered.end
replace(recovery, "_read_last", noted)
"""


def test_nothing_acknowledged_is_lost_and_nothing_malformed_is_delivered(tmp_path: Path) -> None:
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")  # shown when the test fails

    outcome = CrashRun(tmp_path, seed=seed).kill(KILLS)

    print(outcome)
    assert outcome.acknowledged > 10 * KILLS
    assert outcome.unanswered > 0
    assert outcome.files > 2


def test_the_same_holds_when_every_answer_waits_for_the_disk(tmp_path: Path) -> None:
    CrashRun(tmp_path, seed=1, options=("--fsync", "always")).kill(3)


@pytest.mark.parametrize(
    ("fault", "found", "long"),
    [
        (LATE_WRITE, f"{ANYTHING}|QueueFault", MOSTLY_LONG),
        (TAIL_KEPT, ANYTHING, MOSTLY_LONG),
        (POSITION_LEADS, "lost", MOSTLY_LONG),
        (CHANNEL_LATE, "lost", SHORT),
        (IDS_AGAIN, "was given to|cannot follow", MOSTLY_LONG),
        (NOTED_END_TRUSTED, ANYTHING, MOSTLY_LONG),
    ],
    ids=["late-write", "tail-kept", "position-leads", "channel-late", "ids-again", "noted-end"],
)
def test_a_broker_that_breaks_a_promise_is_found_out(
    tmp_path: Path, fault: str, found: str, long: float
) -> None:
    with pytest.raises(Broken, match=found):
        CrashRun(tmp_path, seed=7, code=REPLACE + fault + SERVE, long=long).kill(ENOUGH)
