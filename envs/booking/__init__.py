"""`SLMAgent/Booking-v0`: a travel agency's booking desk over an SQLite database."""

from slmagent.envs.booking.env import BookingEnv

__all__ = ["BookingEnv"]
