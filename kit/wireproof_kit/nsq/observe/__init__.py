"""From received bytes and stored records to observations."""
