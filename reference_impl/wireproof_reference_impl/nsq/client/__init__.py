"""The example client: an asyncio shell around a core without I/O."""
