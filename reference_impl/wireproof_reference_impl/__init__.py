"""The example brokers: pure cores under thin asyncio shells."""
