"""Lookup servers: their answers, the nodes they name, the topics they create."""
