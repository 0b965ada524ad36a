"""Statistics and clients over HTTP."""

from wireproof_reference_impl.iggy.core.stats import count
from wireproof_reference_impl.iggy.http import objects
from wireproof_reference_impl.iggy.http.streams import Asked, path_number, told
from wireproof_reference_impl.iggy.wire.exchange import Answer, text


def root(exchange: Asked) -> Answer:
    """Answer with the name of the API."""
    return text("Iggy HTTP")


def ping(exchange: Asked) -> Answer:
    """Answer a ping."""
    return text("pong")


def get_stats(exchange: Asked) -> Answer:
    """Answer with process, machine and counts."""
    return told(exchange, objects.stats(count(exchange.site, exchange.now_us)))


def get_clients(exchange: Asked) -> Answer:
    """Answer with all clients."""
    return told(exchange, objects.clients(exchange.site.clients.values()))


def get_client(exchange: Asked) -> Answer:
    """Answer with a client."""
    return told(exchange, objects.client(exchange.site.client(path_number(exchange.words[0]))))
