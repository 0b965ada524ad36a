"""Variants: legal differences, other ways to do what the published text leaves open."""
