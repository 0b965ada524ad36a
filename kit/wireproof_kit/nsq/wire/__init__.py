"""The NSQ wire client: connections, commands, frames, HTTP, login."""
