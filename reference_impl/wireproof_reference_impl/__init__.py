"""The example: complete brokers, pure cores under thin asyncio shells."""
