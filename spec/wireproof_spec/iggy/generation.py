"""Which servers a shape belongs to.

`published`: commit b07f23d, crate iggy 0.0.40, which the published text describes. `tagged`:
server-0.4.209, crate iggy 0.6.202, the newest that PyPI's iggy-py 0.4.0 speaks; every server
with a tag from 0.0.4 up to it has its head of a poll and its messages. What else differs is
here as far as a session of that client needs it.

Shapes of the later one have names that end in `_TAGGED`; without a twin a shape holds for both,
unless its module says for which one it is.
"""

from typing import Literal, TypeAlias

Generation: TypeAlias = Literal["published", "tagged"]
