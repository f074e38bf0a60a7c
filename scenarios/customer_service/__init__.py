"""A shop's help desk: its knowledge base and records, who wants what of it, and what the right outcome is."""
