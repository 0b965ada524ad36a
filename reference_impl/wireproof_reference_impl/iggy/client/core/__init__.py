"""The example client without I/O: what is sent, what is read, and what is done about damage.

``operations.py`` is what a user asks for. An operation is a generator that yields calls and is
sent their answers. ``tcp.py`` and ``http.py`` turn calls into bytes and bytes into answers.
"""
