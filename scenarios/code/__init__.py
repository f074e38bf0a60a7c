"""Programming tasks: a file with a hole, what the programmer asks for, and the tests it has to pass."""
