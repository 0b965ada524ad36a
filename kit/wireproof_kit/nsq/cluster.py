"""What a case may do to a cluster, and the mending of it afterwards."""

from wireproof_kit.errors import ArrangementFailed
from wireproof_kit.nsq.http import HttpClient
from wireproof_kit.nsq.lookup import LookupClient
from wireproof_kit.patience import Patience
from wireproof_kit.transcript import Transcript


class Cluster:
    """The cluster of the target as one run of one case sees it; closing mends what it broke."""

    def __init__(
        self,
        *,
        lookup: LookupClient | None,
        control: HttpClient | None,
        transcript: Transcript,
        patience: Patience,
    ) -> None:
        self._lookup = lookup.recording(transcript) if lookup else None
        self._control = control.recording(transcript) if control else None
        self._patience = patience

    @property
    def lookup(self) -> LookupClient:
        """Return the client of the lookup servers.

        Raises:
            ArrangementFailed: none was given.
        """
        if self._lookup is None:
            raise ArrangementFailed("no lookup server of the target is known; give --lookupd")
        return self._lookup

    @property
    def control(self) -> HttpClient:
        """Return the client of the control API.

        Raises:
            ArrangementFailed: none was given.
        """
        if self._control is None:
            raise ArrangementFailed("the target offers no control API; give --control")
        return self._control

    def close(self) -> None:
        """Mend what was broken."""
