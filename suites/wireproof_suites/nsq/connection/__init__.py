"""Cases about IDENTIFY, heartbeats, RDY and batches."""
