"""The scripts of findings of Iggy servers create what the bytes of their cases name."""

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import pytest
from finding_scripts import NOBODY, address, find, header, run_script, write_script

from wireproof_kit.fuzz.campaign.target import start_alone
from wireproof_kit.fuzz.case import Case, Step
from wireproof_kit.iggy.wire import requests
from wireproof_spec.iggy import commands
from wireproof_spec.iggy.bodies.consumer import Consumer
from wireproof_spec.iggy.bodies.identifier import make_named, numeric
from wireproof_spec.iggy.bodies.poll_messages import PollMessages

pytestmark = [pytest.mark.process, pytest.mark.slow]


def poll_elsewhere(names: Mapping[str, str]) -> Case:
    """Poll a partition that the topic of the campaign lacks, then ping."""
    topic = make_named(names["topic"])
    poll = PollMessages(Consumer(1, 1), numeric(int(names["stream_id"])), topic, 9, 1, 0, 1, 0)
    data = requests.request(commands.POLL_MESSAGES, poll).data
    steps = (Step(data), Step(requests.ping().data))
    return Case(0, "joined", "poll_messages", "partition_id", "9", steps, delimited=True)


def test_a_script_creates_the_streams_that_it_names(tmp_path: Path) -> None:
    with closing(start_alone("iggy", ("--fault", "parser-partition-desyncs"))) as faulty:
        finding = find(faulty.url, "no-answer", poll_elsewhere)
        script = write_script(tmp_path, finding, header(faulty.url))
    with closing(start_alone("iggy", ("--fault", "parser-partition-desyncs"))) as fresh:
        of_the_faulty = run_script(script, address(fresh.url))
    with closing(start_alone("iggy")) as right:
        of_the_right = run_script(script, *address(right.url).split(":"))

    assert of_the_faulty.returncode == 0, of_the_faulty.stdout + of_the_faulty.stderr
    assert of_the_right.returncode == 1, of_the_right.stdout + of_the_right.stderr
    assert run_script(script, NOBODY).returncode == 2
