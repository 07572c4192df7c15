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


@contextmanager
def checkout(branch: str) -> Iterator[Path]:
    """Check the branch out into a folder of its own, or begin it without files if it does not exist."""
    where = f"refs/heads/{branch}"
    listed = git("ls-remote", "--exit-code", "origin", where)
    # 2: there is no such branch.
    if listed.returncode != 2:
        must(listed, f"ask origin for its branch {branch}")
        must(git("fetch", "--quiet", "--depth=1", "origin", where), f"fetch the branch {branch}")
    with tempfile.TemporaryDirectory() as temporary:
        site = Path(temporary) / "site"
        if listed.returncode == 0:
            must(git("worktree", "add", "--quiet", "--detach", str(site), "FETCH_HEAD"), f"check {branch} out")
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


def make(site: Path) -> None:
    """Add the new results to the site in this folder."""
    command = ["loadgen", "site", os.environ["PUBLISH_RESULTS"], "--out", str(site), "--keep"]
    if url := os.environ.get("PUBLISH_URL"):
        command += ["--url", url]
    done = subprocess.run(command + shlex.split(os.environ.get("PUBLISH_ARGUMENTS", "")), check=False)
    if done.returncode != 0:
        sys.exit(done.returncode)
    # The pages are shown as they are, without Jekyll.
    (site / ".nojekyll").touch()


def publish(site: Path, branch: str) -> bool:
    """Commit the site and push it. Return whether the branch has it now."""
    must(git("add", "--all", folder=site), "add the pages")
    if git("diff", "--cached", "--quiet", folder=site).returncode == 0:
        print("The site has these results already.")
        return True
    name = ["-c", "user.name=loadgen", "-c", "user.email=loadgen@localhost"]
    committed = git(*name, "commit", "--quiet", "--message", "Results of loadgen", folder=site)
    must(committed, "commit the pages")
    pushed = git("push", "--quiet", "origin", f"HEAD:refs/heads/{branch}", folder=site)
    if pushed.returncode == 0:
        return True
    if "[rejected]" not in pushed.stderr and "[remote rejected]" not in pushed.stderr:
        must(pushed, f"push the branch {branch}; the job needs the permission contents: write")
    print(f"Another job has published meanwhile: {pushed.stderr.strip()}", file=sys.stderr)
    return False


def main() -> None:
    branch = os.environ["PUBLISH_BRANCH"]
    for _ in range(ATTEMPTS):
        with checkout(branch) as site:
            make(site)
            if publish(site, branch):
                return
    fail(f"the branch {branch} changed {ATTEMPTS} times while pages were made")


if __name__ == "__main__":
    main()
