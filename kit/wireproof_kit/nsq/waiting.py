"""Asking again until something shows up: the kit's own."""

from wireproof_kit.waiting import until as until
