"""What the server tells of itself over HTTP."""

from wireproof_reference_impl.iggy.core.stats import count
from wireproof_reference_impl.iggy.http import objects
from wireproof_reference_impl.iggy.http.streams import Asked, path_number, told
from wireproof_reference_impl.iggy.wire.exchange import Answer, text


def root(exchange: Asked) -> Answer:
    """Say what this is."""
    return text("Iggy HTTP")


def ping(exchange: Asked) -> Answer:
    """Say that the server lives."""
    return text("pong")


def get_stats(exchange: Asked) -> Answer:
    """Tell of process, machine and counts."""
    return told(exchange, objects.stats(count(exchange.site, exchange.now_us)))


def get_clients(exchange: Asked) -> Answer:
    """Tell of all clients."""
    return told(exchange, objects.clients(exchange.site.clients.values()))


def get_client(exchange: Asked) -> Answer:
    """Tell of a client."""
    return told(exchange, objects.client(exchange.site.client(path_number(exchange.words[0]))))
