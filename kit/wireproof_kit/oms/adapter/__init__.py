"""Systems without a wire format, reached through the adapter protocol: a process, or over HTTP."""
