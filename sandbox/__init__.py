"""Reserved for running the code that an agent writes."""
