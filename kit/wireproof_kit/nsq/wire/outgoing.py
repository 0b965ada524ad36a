"""Bytes about to be sent: the kit's own, with numbers in network order."""

from wireproof_kit.wire.outgoing import Outgoing as Outgoing
from wireproof_kit.wire.outgoing import from_grammar as from_grammar
from wireproof_kit.wire.outgoing import join_pieces as join_pieces
from wireproof_kit.wire.outgoing import label as label
