"""Iggy for the proxy: both directions decoded, and both sides judged by what passes."""
