"""The booking world: what exists in it, who wants what of it, and what the right outcome is."""
