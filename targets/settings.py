"""Reads the settings that the lab gives to a target in the environment."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

REDIS_KEYS = ("loadgen:1", "loadgen:2", "loadgen:3")
HEALTH_TIMEOUT_S = 2.0
# Folder of the files of files.openapi.yaml.
STATIC = Path(__file__).with_name("static")

Backend = TypeVar("Backend")


@dataclass(frozen=True)
class Settings:
    """Addresses of the backends. A URL is None if the scenario does not use the backend."""

    redis_url: str | None
    database_url: str | None
    pool_size: int

    @classmethod
    def from_environment(cls) -> "Settings":
        return cls(
            redis_url=os.environ.get("REDIS_URL"),
            database_url=os.environ.get("DATABASE_URL"),
            pool_size=int(os.environ.get("POOL_SIZE", "10")),
        )


def configured(backend: Backend | None, variable: str) -> Backend:
    """Return the backend, or raise an error that names the variable which configures the backend."""
    if backend is None:
        raise RuntimeError(f"{variable} is not set")
    return backend
