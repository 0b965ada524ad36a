"""NSQ: the content of the published texts on youzan NSQ, as data."""

from wireproof_spec.protocol import Protocol

PROTOCOL = Protocol("nsq", __name__, rank=0)
