"""The two generations of servers that a shape can belong to.

`published`: commit b07f23d, crate iggy 0.0.40, which the published text describes. `tagged`:
server-0.4.209, crate iggy 0.6.202, the newest that PyPI's iggy-py 0.4.0 can talk to. All tagged
servers from 0.0.4 up to it have the same poll head and messages. Other differences are covered as
far as a session of that client needs them.

Names of tagged shapes end in `_TAGGED`. A shape without such a twin is the same in both
generations, unless its module says otherwise.
"""

from typing import Literal, TypeAlias

Generation: TypeAlias = Literal["published", "tagged"]
GENERATIONS: tuple[Generation, ...] = ("published", "tagged")
