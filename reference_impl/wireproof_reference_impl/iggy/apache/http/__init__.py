"""The HTTP API of generation `apache` without sockets: the same operations, in JSON."""
