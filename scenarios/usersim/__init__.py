"""The world of UserSim: what is talked about, what users want to know, and the right answers."""
