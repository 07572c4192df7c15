"""Writes the result of `gate.py` as one comment of a pull request (GitHub) or merge request (GitLab), which later
runs of the same target update in place.

A job that may not write comments, such as that of a fork, is told so and does not fail.
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


@dataclass(frozen=True)
class Forge:
    """The comments of one pull or merge request."""

    comments: str
    comment: str
    headers: dict[str, str]
    change: str

    @classmethod
    def from_environment(cls) -> "Forge | None":
        """Return the forge of this job; `None` if the job is of no pull or merge request."""
        env = os.environ
        if env.get("GATE_PULL_REQUEST") and env.get("GITHUB_TOKEN"):
            issues = f"{env['GITHUB_API_URL']}/repos/{env['GITHUB_REPOSITORY']}/issues"
            headers = {"Authorization": f"Bearer {env['GITHUB_TOKEN']}", "Accept": "application/vnd.github+json"}
            return cls(f"{issues}/{env['GATE_PULL_REQUEST']}/comments", f"{issues}/comments", headers, "PATCH")
        if env.get("CI_MERGE_REQUEST_IID") and env.get("GITLAB_TOKEN"):
            requests = f"{env['CI_API_V4_URL']}/projects/{env['CI_PROJECT_ID']}/merge_requests"
            notes = f"{requests}/{env['CI_MERGE_REQUEST_IID']}/notes"
            return cls(notes, notes, {"PRIVATE-TOKEN": env["GITLAB_TOKEN"]}, "PUT")
        return None

    def write(self, marker: str, text: str) -> str:
        """Update the comment that contains the marker, or write a new one. Return what was done."""
        body = {"body": f"{marker}\n{text}"}
        known = self.find(marker)
        if known is None:
            self.send("POST", self.comments, body)
            return "wrote a comment"
        self.send(self.change, f"{self.comment}/{known}", body)
        return "updated the comment"

    def find(self, marker: str) -> int | None:
        page = 1
        while True:
            comments = self.send("GET", f"{self.comments}?per_page={PAGE}&page={page}")
            for comment in comments:
                if str(comment.get("body", "")).startswith(marker):
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
    summary = Path(os.environ.get("GATE_OUT") or "loadgen-result") / "summary.md"
    target = os.environ.get("GATE_TARGET", "")
    try:
        text = summary.read_text()
    except FileNotFoundError:
        print(f"loadgen: no comment: there is no {summary}", file=sys.stderr)
        return 0
    forge = Forge.from_environment()
    if forge is None:
        print("loadgen: no comment: this job is of no pull or merge request, or has no token")
        return 0
    try:
        print(f"loadgen: {forge.write(f'<!-- loadgen {target} -->', text)}")
    except urllib.error.HTTPError as error:
        if error.code not in (401, 403, 404):
            raise
        print(f"loadgen: no comment: the token may not write one ({error.code} {error.reason})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
