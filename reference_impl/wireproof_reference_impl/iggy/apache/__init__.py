"""The server of generation `apache`, without I/O: frames of 256-byte headers in, answers out.

It shares storage, HTTP and the shell with the other generations. Streams, topics and partitions
are its own: ids count from 0, and a partition keeps batches as they came, not messages.
"""
