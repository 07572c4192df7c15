"""One GET after another without think time, with Locust's fast client."""

from locust import FastHttpUser, task


class Plain(FastHttpUser):
    """A user who sends the next request as soon as the last is answered."""

    @task
    def get(self) -> None:
        self.client.get("/")
