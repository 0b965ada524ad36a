"""How the kit's servers write what they send: in pieces, or several sends together.

A client must take frames by their size, whatever it reads at once: TCP keeps no borders.
"""

from collections import deque
from dataclasses import dataclass

PAUSE_S = 0.002
"""Seconds between two pieces, so that a client that waits for data reads each by itself."""
GLUE_S = 0.05
MOST_SMALL = 64
"""How many bytes of a send are cut into single bytes; the rest comes as one piece."""


@dataclass(frozen=True, slots=True)
class Pieces:
    """How sends are cut: ``at`` so many bytes from their beginning, or from their end if negative.

    With ``single``, the first bytes of each send come one by one. With ``is_glued``, what is sent
    within 50 ms is written at once, but for its last bytes, so that the client reads several
    frames and a part of one.
    """

    at: int = 0
    single: bool = False
    is_glued: bool = False

    def cut(self, size: int) -> deque[int]:
        """Return the sizes of the pieces of so many bytes."""
        if self.single:
            small = min(size, MOST_SMALL)
            sizes = [1] * small + [size - small]
        else:
            first = min(max(self.at if self.at >= 0 else size + self.at, 0), size)
            sizes = [first, size - first]
        return deque(each for each in sizes if each)


HTTP_PIECES = {
    "single": Pieces(single=True),
    "status": Pieces(5),
    "headers": Pieces(30),
    "body": Pieces(-20),
}
"""Where an HTTP answer is cut: in the part that is named, or byte by byte."""
LENGTHS = (1, 127, 128, 255, 256, 32767, 32768, 65535, 65536)
"""Lengths around the greatest numbers of one and two bytes, with a sign and without."""
