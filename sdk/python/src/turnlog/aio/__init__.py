"""The client for asyncio; the names are in ``turnlog``."""
