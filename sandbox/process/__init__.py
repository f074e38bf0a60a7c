"""The `process` backend: a warm fork-server, kernel namespaces, a system-call filter, resource limits."""
