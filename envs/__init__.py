"""Gymnasium environments: conversations with a simulated user and real state behind the tools."""
