"""Asking again until something shows up: the kit's own."""

from wireproof_kit.wire.waiting import until as until
