"""What the kit knows of Iggy: its client over TCP and HTTP, words for cases, probes."""
