"""Writes the result of `gate.py` as one comment of a pull request (GitHub) or merge request (GitLab), which later
runs of the same gate update in place. GATE_REPORT is the folder of the results.

Without a comment, as in a job of a fork, which may not write any, the job is told why and does not fail.
"""

import json
import os
import sys
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PAGE = 100

# Greatest length of a comment, in characters. GitHub accepts 65,536.
LONGEST = 60_000


@dataclass(frozen=True)
class Forge:
    """The comments of one pull or merge request."""

    comments: str
    comment: str
    # The user of the token.
    user: str
    headers: dict[str, str]
    change: str

    @classmethod
    def from_environment(cls) -> "Forge | None":
        """Return the forge of this job; `None` if the job is of no pull or merge request."""
        env = os.environ
        if env.get("GATE_PULL_REQUEST") and env.get("GITHUB_TOKEN"):
            issues = f"{env['GITHUB_API_URL']}/repos/{env['GITHUB_REPOSITORY']}/issues"
            headers = {"Authorization": f"Bearer {env['GITHUB_TOKEN']}", "Accept": "application/vnd.github+json"}
            comments, user = f"{issues}/{env['GATE_PULL_REQUEST']}/comments", f"{env['GITHUB_API_URL']}/user"
            return cls(comments, f"{issues}/comments", user, headers, "PATCH")
        if env.get("CI_MERGE_REQUEST_IID") and env.get("GITLAB_TOKEN"):
            requests = f"{env['CI_API_V4_URL']}/projects/{env['CI_PROJECT_ID']}/merge_requests"
            notes = f"{requests}/{env['CI_MERGE_REQUEST_IID']}/notes"
            return cls(notes, notes, f"{env['CI_API_V4_URL']}/user", {"PRIVATE-TOKEN": env["GITLAB_TOKEN"]}, "PUT")
        return None

    def write(self, marker: str, text: str) -> str:
        """Update the own comment that begins with the marker, or write a new one. Return what was done."""
        if len(text) > LONGEST:
            text = f"{text[:LONGEST]}…\n\nThe rest is in the report."
        body = {"body": f"{marker}\n{text}"}
        known = self.find(marker)
        if known is None:
            self.send("POST", self.comments, body)
            return "wrote a comment"
        self.send(self.change, f"{self.comment}/{known}", body)
        return "updated the comment"

    def me(self) -> int | None:
        """Return the ID of the token's user; `None` for the token of an app, which has no user."""
        try:
            return int(self.send("GET", self.user)["id"])
        except urllib.error.HTTPError as error:
            if error.code in (401, 403):
                return None
            raise

    def find(self, marker: str) -> int | None:
        """Return the ID of the own comment that begins with the marker. Somebody else's could be rewritten."""
        me, page = self.me(), 1
        while True:
            comments = self.send("GET", f"{self.comments}?per_page={PAGE}&page={page}")
            for comment in comments:
                author = comment.get("user") or comment.get("author") or {}
                is_own = author.get("id") == me if me is not None else author.get("type") == "Bot"
                if is_own and str(comment.get("body", "")).startswith(marker):
                    return int(comment["id"])
            if len(comments) < PAGE:
                return None
            page += 1

    def send(self, method: str, url: str, body: dict[str, str] | None = None) -> Any:
        data = json.dumps(body).encode() if body else None
        headers = self.headers | {"Content-Type": "application/json"}
        request = urllib.request.Request(url, data=data, headers=headers, method=method)
        with urllib.request.urlopen(request, timeout=30) as response:
            return json.load(response)


def main() -> int:
    report = Path(os.environ.get("GATE_REPORT", ""))
    try:
        text = (report / "summary.md").read_text()
    except FileNotFoundError:
        print(f"loadgen: no comment: there is no {report / 'summary.md'}", file=sys.stderr)
        return 0
    forge = Forge.from_environment()
    if forge is None:
        print("loadgen: no comment: this job is of no pull or merge request, or has no token")
        return 0
    try:
        print(f"loadgen: {forge.write(f'<!-- loadgen {report.name} -->', text)}")
    except (OSError, ValueError, KeyError, TypeError) as error:
        # The gate has judged: no failure of the forge, and no answer that is not understood, changes that.
        may_not = isinstance(error, urllib.error.HTTPError) and error.code in (401, 403, 404)
        why = f"the token may not write one ({error})" if may_not else str(error)
        print(f"::warning title=loadgen::no comment: {why}" if "GITHUB_ACTIONS" in os.environ else f"loadgen: {why}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
