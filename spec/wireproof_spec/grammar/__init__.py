"""Shapes of bytes: their fields, their lengths, their texts, and how construct reads them."""
