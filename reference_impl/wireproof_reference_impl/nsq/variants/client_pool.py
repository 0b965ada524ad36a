"""A pool of two connections for each node, which all partitions of the node share.

Document 004 keeps connections "in a pool for reuse purpose, with nsqd identification as key". The
example client has a connection for each partition instead.
"""

# An override reaches into the core from outside, and is called with whatever the core has there.
# pyright: reportPrivateUsage=false

from wireproof_reference_impl.nsq.client.core.producer import Job, Lane, Producer
from wireproof_reference_impl.nsq.client.core.topology import Place
from wireproof_reference_impl.overrides import Original, around

_SIZE = 2


def _dispatch(original: Original, self: Producer, job: Job) -> None:
    vars(self)["dispatched"] = job
    original(self, job)


def _lane(original: Original, self: Producer, place: Place) -> Lane:
    """Return a connection to the node: the next one, or for a sharding id always the same."""
    job = vars(self)["dispatched"]
    assert isinstance(job, Job)
    vars(job)["place"] = place
    number = self._turn if job.message.key is None else place.partition or 0
    name = (place.address, number % _SIZE)
    lanes: dict[object, Lane] = vars(self)["_lanes"]
    if name not in lanes:
        lanes[name] = Lane(self, place)
    return lanes[name]


def _pump(original: Original, self: Lane) -> None:
    """Serve the partition of the message that is next."""
    while self._jobs and self._jobs[0].is_settled:
        self._jobs.popleft()
    if self._jobs and self._current is None and not self._is_held:
        self.place = vars(self._jobs[0])["place"]
    original(self)


def _follow(original: Original, self: Producer) -> None:
    """End the connections to nodes that lead nothing any more."""
    leading = {place.address for place in self.lookups.topology.places}
    lanes: dict[object, Lane] = vars(self)["_lanes"]
    for name, lane in tuple(lanes.items()):
        if leading and lane.place.address not in leading:
            for job in lanes.pop(name).retire():
                self.dispatch(job)


POOL = (
    around(Producer, "dispatch", _dispatch),
    around(Producer, "_lane", _lane),
    around(Producer, "_follow", _follow),
    around(Lane, "_pump", _pump),
)
"""Overrides of the example client's producer."""
