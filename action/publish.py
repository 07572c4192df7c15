"""Adds results to a site of all results, in a branch of the repository. The last step of a nightly job."""

import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

# Two jobs may publish at the same time: the one that comes second begins again.
ATTEMPTS = 5

# Name of a branch without files, until it is pushed.
NEW = "loadgen-new-site"


def git(*words: str, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=False)


def fail(why: str) -> NoReturn:
    print(f"::error title=loadgen::{why}")
    sys.exit(1)


def must(done: subprocess.CompletedProcess[str], what: str) -> None:
    if done.returncode != 0:
        fail(f"cannot {what}: {done.stderr.strip()}")


def head_of(branch: str) -> str | None:
    """Return the commit of the branch at origin; nothing if there is no such branch."""
    listed = git("ls-remote", "origin", f"refs/heads/{branch}")
    must(listed, f"ask origin for its branch {branch}")
    return listed.stdout.split()[0] if listed.stdout else None


def fetched(branch: str) -> str | None:
    """Fetch the branch, and return its commit; nothing if there is no such branch."""
    if head_of(branch) is None:
        return None
    must(git("fetch", "--quiet", "--depth=1", "origin", f"refs/heads/{branch}"), f"fetch the branch {branch}")
    return git("rev-parse", "FETCH_HEAD").stdout.strip()


@contextmanager
def checkout(branch: str, head: str | None) -> Iterator[Path]:
    """Check the branch out into a folder of its own, or begin it without files if it does not exist."""
    with tempfile.TemporaryDirectory() as temporary:
        site = Path(temporary) / "site"
        if head:
            must(git("worktree", "add", "--quiet", "--detach", str(site), head), f"check {branch} out")
        else:
            added = git("worktree", "add", "--quiet", "--no-checkout", "--detach", str(site), "HEAD")
            must(added, f"begin the branch {branch}")
            must(git("symbolic-ref", "HEAD", f"refs/heads/{NEW}", folder=site), f"begin the branch {branch}")
            must(git("read-tree", "--empty", folder=site), f"begin the branch {branch}")
        try:
            yield site
        finally:
            git("worktree", "remove", "--force", str(site))
            git("branch", "--quiet", "--delete", "--force", NEW)


def options() -> list[str]:
    """Return the options of `loadgen site` that the job names."""
    words = os.environ.get("PUBLISH_ARGUMENTS", "")
    try:
        named = shlex.split(words)
    except ValueError as error:
        fail(f"the input arguments cannot be read: {error}: {words}")
    url = os.environ.get("PUBLISH_URL")
    return (["--url", url] if url else []) + named


def make(site: Path) -> None:
    """Add the new results to the site in this folder."""
    results = os.environ.get("PUBLISH_RESULTS") or "runs"
    done = subprocess.run(["loadgen", "site", results, "--out", str(site), "--keep", *options()], check=False)
    if done.returncode != 0:
        sys.exit(done.returncode)
    # The pages are shown as they are, without Jekyll.
    (site / ".nojekyll").touch()


def publish(site: Path, branch: str, head: str | None) -> bool:
    """Commit the site and push it. Return whether the branch has it now; not if another job has changed the branch."""
    must(git("add", "--all", folder=site), "add the pages")
    if git("diff", "--cached", "--quiet", folder=site).returncode == 0:
        print("The site has these results already.")
        return True
    name = ["-c", "user.name=loadgen", "-c", "user.email=loadgen@localhost"]
    committed = git(*name, "commit", "--quiet", "--message", "Results of loadgen", folder=site)
    must(committed, "commit the pages")
    commit = git("rev-parse", "HEAD", folder=site).stdout.strip()
    # From here, because the address of origin may be a path from here.
    pushed = git("push", "--quiet", "origin", f"{commit}:refs/heads/{branch}")
    if pushed.returncode == 0:
        return True
    if head_of(branch) == head:
        must(pushed, f"push the branch {branch}")
    print("Another job has published meanwhile: the pages are made again.", file=sys.stderr)
    return False


def main() -> None:
    branch = os.environ.get("PUBLISH_BRANCH") or "gh-pages"
    if git("check-ref-format", f"refs/heads/{branch}").returncode != 0:
        fail(f"the input branch is no name of a branch: {branch}")
    options()
    for _ in range(ATTEMPTS):
        head = fetched(branch)
        with checkout(branch, head) as site:
            make(site)
            if publish(site, branch, head):
                return
    fail(f"the branch {branch} changed {ATTEMPTS} times while pages were made")


if __name__ == "__main__":
    main()
