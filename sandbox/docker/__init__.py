"""The `docker` backend: the same fork-server, as the first process of a container that has nothing else in it."""
