"""What shows a capability: an accepted request alone does not, if brokers without it accept it."""

from typing import cast

import pytest

from wireproof_kit.nsq.probes import delivery
from wireproof_kit.nsq.probes.context import ProbeContext
from wireproof_kit.nsq.probes.witnesses import WITNESSES
from wireproof_kit.observation import observed
from wireproof_spec.clauses.catalogue import matches
from wireproof_spec.clauses.loading import load_catalogue


@pytest.mark.parametrize(
    ("layout", "is_shown"),
    [
        ("version-alone", True),
        ("version-and-length", True),
        # nsqio nsqd ignores extend_support, accepts the subscription, and delivers plain messages.
        ("no-ext-part", False),
        ("other", False),
        ("missing", False),
    ],
)
def test_a_subscription_shows_the_extend_feature_by_its_ext_part(
    layout: str, is_shown: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delivery, "no_ext_layout", lambda bench: observed(layout))
    seen = WITNESSES["ext-subscription"](cast(ProbeContext, None))
    (ext,) = (each for each in load_catalogue("nsq").capabilities if each.id == "ext")
    assert matches(seen.value, ext.shown_by) is is_shown
