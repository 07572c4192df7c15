"""Runs aiohttp_app.py in gunicorn."""

from aiohttp import GunicornUVLoopWebWorker


class Worker(GunicornUVLoopWebWorker):
    """Keeps gunicorn's backlog, which aiohttp's worker shortens to 128 connections when it starts to serve."""

    def notify(self) -> None:
        """Run when the worker starts to serve, and then once a second."""
        for listener in self.sockets:
            listener.listen(self.cfg.backlog)
        super().notify()
