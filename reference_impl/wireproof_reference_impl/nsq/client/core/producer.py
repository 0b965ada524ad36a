"""Publishing to one topic: a lane for each partition, and a publish that ends in one outcome.

A lane has one connection and publishes one message after the other. A message with a sharding id
stays in its lane, and in front of it while it is repeated: what comes later must not overtake it.
Any other message is repeated in the lane whose turn it is.
"""

from collections import deque
from collections.abc import Callable

from wireproof_reference_impl.nsq.client.core import answers, commands, partitioning, retry
from wireproof_reference_impl.nsq.client.core.connection import Answered, Event, Refused, Strange
from wireproof_reference_impl.nsq.client.core.effects import Failure, Receipt, Settle
from wireproof_reference_impl.nsq.client.core.host import Alarm, Host
from wireproof_reference_impl.nsq.client.core.link import Link
from wireproof_reference_impl.nsq.client.core.lookups import WRITE, Lookups
from wireproof_reference_impl.nsq.client.core.settings import Settings
from wireproof_reference_impl.nsq.client.core.topology import Place
from wireproof_reference_impl.nsq.client.core.trace_log import tell_published


class Job:
    """A message to publish whose outcome is not known yet.

    After `due` it is neither sent for the first time nor repeated.
    """

    def __init__(self, ticket: int, message: commands.Publish, due: float) -> None:
        self.ticket = ticket
        self.message = message
        self.due = due
        self.attempts = 0
        self.has_refreshed = False
        self.is_under_way = False
        self.is_settled = False


class Producer:
    """The client's producer for one topic: its lookups, and a connection for each partition."""

    def __init__(self, host: Host, settings: Settings, topic: str) -> None:
        self.topic = topic
        self.host = host
        self.settings = settings
        self.lookups = Lookups(host, settings, topic, WRITE, self._follow)
        self._lanes: dict[Place | int, Lane] = {}
        self._turn = 0

    def start(self) -> None:
        """Begin with the first lookup."""
        self.lookups.start()

    def publish(self, ticket: int, message: commands.Publish) -> None:
        """Publish a message; a `Settle` effect with this ticket reports the outcome."""
        fault = answers.find_fault(message)
        if fault:
            self.host.do(Settle(ticket, Failure(fault)))
            return
        seconds = retry.budget(self.settings)
        job = Job(ticket, message, self.host.now + seconds)
        self.host.after(seconds, lambda: self._expire(job))
        self.dispatch(job)

    def stop(self) -> None:
        """Stop lookups, and close every connection."""
        self.lookups.stop()
        for lane in self._lanes.values():
            for job in lane.close():
                self.settle(job, Failure("the producer has ended"))

    def dispatch(self, job: Job) -> None:
        """Queue a message for the connection of its partition, or look up that partition."""
        if job.is_settled:
            return
        place = self._choose(job)
        if place is not None:
            self._lane(place).add(job)
        elif job.has_refreshed and (job.message.key is not None or not self._may_wait(job)):
            self.settle(job, Failure(_nowhere(self.topic, job)))
        else:
            job.has_refreshed = True
            self.refresh(lambda: self.dispatch(job))

    def refresh(self, then: Callable[[], None]) -> None:
        """Look up the topic again, and call `then` when that is done."""
        self.lookups.refresh(then)

    def settle(self, job: Job, outcome: Receipt | Failure) -> None:
        """Report the outcome of a publish to the user."""
        job.is_settled = True
        if isinstance(outcome, Receipt) and job.message.trace_id is not None:
            self.host.log(tell_published(self.topic, outcome))
        self.host.do(Settle(job.ticket, outcome))

    def _expire(self, job: Job) -> None:
        """Fail a job that still waits: for a node, or behind others that do."""
        if not (job.is_settled or job.is_under_way):
            self.settle(job, Failure("no node took the message in time"))

    def _may_wait(self, job: Job) -> bool:
        """Return True if a job may wait for another lookup; each counts as an attempt."""
        job.attempts += 1
        return retry.may_repeat(self.settings, job.attempts)

    def _choose(self, job: Job) -> Place | None:
        topology = self.lookups.topology
        if job.message.key is not None:
            return partitioning.place_of_key(topology, job.message.key)
        if not topology.places:
            return None
        self._turn += 1
        return partitioning.place_in_turn(topology, self._turn)

    def _lane(self, place: Place) -> "Lane":
        name = _name_lane(place)
        if name not in self._lanes:
            self._lanes[name] = Lane(self, place)
        return self._lanes[name]

    def _follow(self) -> None:
        """Move the lanes whose leaders have changed, and end those that have none any more."""
        places = self.lookups.topology.places
        if not places:
            return  # nobody knows the topic now; what is open may still work
        names = {_name_lane(place): place for place in places}
        for name, lane in tuple(self._lanes.items()):
            if name in names:
                lane.move(names[name])
                continue
            for job in self._lanes.pop(name).retire():
                self.dispatch(job)


class Lane:
    """A producer's connection for one partition, and the messages that wait for it."""

    def __init__(self, producer: Producer, place: Place) -> None:
        self.place = place
        self._producer = producer
        self._host = producer.host
        self._settings = producer.settings
        self._jobs: deque[Job] = deque()
        self._current: Job | None = None
        self._is_held = False
        self._is_retired = False
        self._time_out: Alarm | None = None
        self._link = self._open()

    def add(self, job: Job) -> None:
        """Queue a message behind those that wait."""
        self._jobs.append(job)
        self._pump()

    def move(self, place: Place) -> None:
        """Connect to the node that leads the partition now, if it is another one."""
        if place == self.place:
            return
        self.place = place
        if self._current is None:
            self._reopen()

    def retire(self) -> list[Job]:
        """Close the connection after the publish under way; return the waiting messages."""
        self._is_retired = True
        if self._current is None:
            self._link.close()
        jobs = list(self._jobs)
        self._jobs.clear()
        return jobs

    def close(self) -> list[Job]:
        """Close the connection at once; return the messages without an answer."""
        self._link.close()
        self._stop_clock()
        under_way = [] if self._current is None else [self._current]
        self._current = None
        return [*under_way, *self.retire()]

    def identity(self) -> commands.Identity:
        """Return what the producer sends with IDENTIFY."""
        return commands.Identity(self._settings.heartbeat_interval_ms)

    def handle_ready(self) -> None:
        """Publish the waiting messages on the connection that is now ready."""
        self._pump()

    def handle_event(self, event: Event) -> None:
        """Process the answer to the publish under way, or another event."""
        job = self._current
        if job is not None and isinstance(event, Answered | Refused):
            self._current, job.is_under_way = None, False
            self._stop_clock()
            self._link.succeed()
            self._judge(job, event)
            self._pump()
        elif isinstance(event, Strange) and event.is_answer:
            # Whatever comes next might be taken for the answer to the next publish.
            self._link.reset(event.text)
        else:
            self._host.log(f"{self._producer.topic}: {event}")

    def handle_loss(self, reason: str) -> None:
        """Repeat the publish under way, of which nobody knows whether it was stored."""
        job, self._current = self._current, None
        self._stop_clock()
        if self._is_retired:
            self._link.close()
        if job is not None:
            job.is_under_way = False
            self._repeat_refreshed(job, Failure(f"no answer from the node: {reason}"))
        elif self._jobs and not self._is_held:
            first = self._jobs.popleft()
            first.attempts += 1
            self._repeat_refreshed(first, Failure(f"no connection to the node: {reason}"))

    def _open(self) -> Link:
        link = Link(self._host, self._settings, self.place.address, self)
        link.open()
        return link

    def _reopen(self) -> None:
        self._link.close()
        self._link = self._open()

    def _pump(self) -> None:
        if self._current is not None or self._is_held:
            return
        if self._is_retired:
            self._link.close()
            return
        if self._link.address != self.place.address:
            self._reopen()
        while self._jobs and self._jobs[0].is_settled:
            self._jobs.popleft()
        if not self._jobs or not self._link.is_ready:
            return
        job = self._current = self._jobs.popleft()
        job.is_under_way = True
        job.attempts += 1
        node = self._link.node
        self._link.send(node.publish(self._producer.topic, self.place.partition, job.message))
        within = self._settings.publish_timeout_s
        self._time_out = self._host.after(within, lambda: self._link.reset("it does not answer"))

    def _judge(self, job: Job, event: Answered | Refused) -> None:
        if isinstance(event, Answered):
            outcome = answers.read_answer(job.message, self.place.partition, event.data)
            self._producer.settle(job, outcome)
            return
        verdict = retry.judge(event.code)
        failure = Failure(event.text, event.code)
        if verdict is retry.Verdict.FAIL:
            self._producer.settle(job, failure)
        elif verdict is retry.Verdict.REFRESH:
            self._repeat_refreshed(job, failure)
        else:
            self._repeat(job, failure)

    def _repeat_refreshed(self, job: Job, failure: Failure) -> None:
        self._is_held = job.message.key is not None
        self._producer.refresh(lambda: self._repeat(job, failure))

    def _repeat(self, job: Job, failure: Failure) -> None:
        self._is_held = job.message.key is not None
        if job.is_settled:
            self._release()
        elif self._host.now < job.due and retry.may_repeat(self._settings, job.attempts):
            delay = retry.repeat_delay(self._settings, job.attempts)
            self._host.after(delay, lambda: self._again(job))
        else:
            self._producer.settle(job, failure)
            self._release()

    def _again(self, job: Job) -> None:
        """Publish a job again: in front of this lane if it has a sharding id."""
        if (
            job.is_settled
            or job.message.key is None
            or self.place not in self._producer.lookups.topology.places
        ):
            self._producer.dispatch(job)
        else:
            self._jobs.appendleft(job)
        self._release()

    def _release(self) -> None:
        self._is_held = False
        self._pump()

    def _stop_clock(self) -> None:
        if self._time_out is not None:
            self._time_out.cancel()


def _name_lane(place: Place) -> Place | int:
    """Return what a lane is known by: its partition, whoever leads it."""
    return place if place.partition is None else place.partition


def _nowhere(topic: str, job: Job) -> str:
    if job.message.key is None:
        return f"no lookup server knows a node for the topic {topic}"
    return f"no lookup server knows a leader for the partition of this sharding id in {topic}"
