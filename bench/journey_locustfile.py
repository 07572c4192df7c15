"""Logs in with a form, follows the redirect, and gets ten pages with the session cookie, with Locust's fast client.

A page without the cookie is refused, and Locust then ends with an error.
"""

from locust import FastHttpUser, task


class Member(FastHttpUser):
    """A user that sends the next request as soon as the previous one is answered."""

    @task
    def visit(self) -> None:
        self.client.post("/login", data={"user": "ada", "password": "secret"})
        for _ in range(10):
            self.client.get("/page")
