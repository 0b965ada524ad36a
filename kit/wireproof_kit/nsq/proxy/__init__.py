"""What a proxy does with NSQ: declines TLS and compression, rewrites lookup answers, judges."""
