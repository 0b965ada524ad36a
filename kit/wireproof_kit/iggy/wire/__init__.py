"""The Iggy wire client: connections, requests, HTTP, login."""
