"""The bodies of requests and replies of generation `apache` that all protocol numbers share."""
