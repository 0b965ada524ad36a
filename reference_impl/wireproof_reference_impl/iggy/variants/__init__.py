"""Variants: legal alternatives where the published text leaves a choice."""
