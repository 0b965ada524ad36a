"""How a lookup server answers when it is told to answer wrongly, late or not at all."""

from dataclasses import dataclass, replace

from wireproof_reference_impl.nsq.http_request import Answer, Request


@dataclass(frozen=True, slots=True)
class Distortion:
    """A way to answer, with the delay it takes."""

    name: str
    delay_ns: int = 0


RIGHT = Distortion("right")


def distorted(way: Distortion, request: Request, answer: Answer) -> Answer:
    """Return what is sent instead of an answer."""
    return replace(answer, delay_ns=way.delay_ns)
