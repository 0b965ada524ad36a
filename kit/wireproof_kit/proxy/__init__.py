"""Stands between clients and brokers: relays their bytes, and shows and judges what passes."""
