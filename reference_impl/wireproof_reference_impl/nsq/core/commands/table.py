"""The table of commands and their handlers."""

from collections.abc import Mapping

from wireproof_reference_impl.nsq.behaviour import Behaviour
from wireproof_reference_impl.nsq.core.commands import publish_pipelined
from wireproof_reference_impl.nsq.core.commands.auth import auth
from wireproof_reference_impl.nsq.core.commands.consume import cls, fin, nop, rdy, req, touch
from wireproof_reference_impl.nsq.core.commands.create_topic import create_topic
from wireproof_reference_impl.nsq.core.commands.identify import identify
from wireproof_reference_impl.nsq.core.commands.publish import pub, pub_trace
from wireproof_reference_impl.nsq.core.commands.publish_ext import pub_ext
from wireproof_reference_impl.nsq.core.commands.publish_many import mpub, mpub_ext, mpub_trace
from wireproof_reference_impl.nsq.core.commands.subscribe import subscribe
from wireproof_reference_impl.nsq.core.connection import Handler
from wireproof_spec.nsq import names

_HANDLERS: Mapping[bytes, Handler] = {
    names.IDENTIFY: identify,
    names.AUTH: auth,
    names.SUB: subscribe,
    names.SUB_ORDER: subscribe,
    names.SUB_ORDERED: subscribe,
    names.SUB_ADVANCED: subscribe,
    names.PUB: pub,
    names.PUB_TRACE: pub_trace,
    names.PUB_EXT: pub_ext,
    names.MPUB: mpub,
    names.MPUB_TRACE: mpub_trace,
    names.MPUB_EXT: mpub_ext,
    names.RDY: rdy,
    names.FIN: fin,
    names.REQ: req,
    names.TOUCH: touch,
    names.CLS: cls,
    names.NOP: nop,
    names.INTERNAL_CREATE_TOPIC: create_topic,
}


def handlers(behaviour: Behaviour) -> Mapping[bytes, Handler]:
    """Return the handlers of the commands that a behaviour knows, by name."""
    unknown = behaviour.unknown_commands
    table = {name: handler for name, handler in _HANDLERS.items() if name not in unknown}
    if publish_pipelined.fits(behaviour) and names.PUB in table:
        table[names.PUB] = publish_pipelined.pub
    return table
