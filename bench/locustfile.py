"""Sends one GET after another without think time, with Locust's fast client."""

from locust import FastHttpUser, task


class Plain(FastHttpUser):
    """A user that sends the next request as soon as the previous one is answered."""

    @task
    def get(self) -> None:
        self.client.get("/")
