"""What plays an environment: local models, endpoints, scripted experts, people."""
