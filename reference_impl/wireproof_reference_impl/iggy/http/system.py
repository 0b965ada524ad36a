"""Statistics and clients over HTTP."""

from wireproof_reference_impl.iggy.core.stats import count
from wireproof_reference_impl.iggy.http import objects
from wireproof_reference_impl.iggy.http.streams import Asked, answer_json, path_number
from wireproof_reference_impl.iggy.wire.exchange import Answer, text


def root(exchange: Asked) -> Answer:
    """Handle a request for the root of the HTTP API: answer with the name of the API."""
    return text("Iggy HTTP")


def ping(exchange: Asked) -> Answer:
    """Handle an HTTP ping."""
    return text("pong")


def get_stats(exchange: Asked) -> Answer:
    """Handle an HTTP request for figures of process, machine and data."""
    return answer_json(exchange, objects.stats(count(exchange.site, exchange.now_us)))


def get_clients(exchange: Asked) -> Answer:
    """Handle an HTTP request for all clients."""
    return answer_json(exchange, objects.clients(exchange.site.clients.values()))


def get_client(exchange: Asked) -> Answer:
    """Handle an HTTP request for one client."""
    return answer_json(
        exchange, objects.client(exchange.site.client(path_number(exchange.words[0])))
    )
