"""`SLMAgent/CustomerService-v0`: a shop's help desk over an SQLite database and a searchable knowledge base."""

from slmagent.envs.customer_service.env import CustomerServiceEnv

__all__ = ["CustomerServiceEnv"]
