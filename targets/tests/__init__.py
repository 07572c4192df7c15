"""Holds every target of targets.toml to openapi.yaml, over a real Redis and a real PostgreSQL."""
