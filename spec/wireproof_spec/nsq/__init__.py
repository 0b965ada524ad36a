"""NSQ: what the published texts on youzan NSQ say, as data."""

from wireproof_spec.protocol import Protocol

PROTOCOL = Protocol("nsq", __name__, rank=0)
