"""The two generations of servers that a shape can belong to.

`published`: commit b07f23d, crate iggy 0.0.40, which the published text describes. `tagged`:
server-0.4.209, crate iggy 0.6.202, the newest that PyPI's iggy-py 0.4.0 can talk to. All tagged
servers from 0.0.4 up to it have the same poll head and messages. Other differences are covered as
far as a session of that client needs them.

A third generation, `apache`, has another frame, another message and another form of every body:
its grammar stands apart, in `wireproof_spec.iggy.apache`, and shares no shape that has a
`Generation` as an argument.

Names of tagged shapes end in `_TAGGED`. A shape without such a twin is the same in both
generations, unless its module says otherwise.
"""

from typing import Literal, TypeAlias

Generation: TypeAlias = Literal["published", "tagged"]
GENERATIONS: tuple[Generation, ...] = ("published", "tagged")
ServedGeneration: TypeAlias = Literal["published", "tagged", "apache"]
SERVED_GENERATIONS: tuple[ServedGeneration, ...] = ("published", "tagged", "apache")
"""Every generation of servers, with those whose grammar stands apart."""


def framed(generation: ServedGeneration) -> Generation:
    """Return a generation; `published` in the place of one whose frames are others."""
    return "published" if generation == "apache" else generation


CreateForm: TypeAlias = Literal["schema", "commit", "tagged"]
CREATE_FORMS: dict[CreateForm, str] = {
    "commit": "a number of 4 bytes, the name to the end of the frame",
    "schema": "an identifier, a name behind a length of 1 byte",
    "tagged": "a number of 4 bytes, for topics also compression, expiry, size and replication, "
    "a name behind a length of 1 byte",
}
"""The forms of the requests that create streams and topics, with their fields.

`commit` is that of commit b07f23d, `schema` that of the Iggy schema, whose fields it lists, and
`tagged` that of servers with a tag.
"""
OWN_CREATE_FORM: dict[Generation, CreateForm] = {"published": "commit", "tagged": "tagged"}
"""The form in which the real servers of a generation create."""
