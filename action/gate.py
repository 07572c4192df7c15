"""Compares two commits of a target, and says whether the later one is slower: for CI jobs.

The settings are the variables GATE_TARGET, GATE_SCENARIO, GATE_BASE, GATE_HEAD, GATE_LIMIT, GATE_ROUNDS,
GATE_NOISE_FLOOR, GATE_ARGUMENTS and GATE_OUT. The exit code is that of loadgen: 0, 3 for a regression, 1 if
it cannot be judged, or another code for an error.
"""

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

UNJUDGED = "unjudged"


class Unusable(Exception):
    """Reason why nothing can be measured."""


@dataclass(frozen=True)
class Settings:
    """What to measure."""

    target: str
    scenario: str
    base: str
    head: str
    limit: str
    rounds: str
    noise_floor: bool
    arguments: tuple[str, ...]
    out: Path

    @classmethod
    def from_environment(cls) -> "Settings":
        def needed(name: str) -> str:
            value = os.environ.get(f"GATE_{name}", "").strip()
            if not value:
                raise Unusable(f"GATE_{name} is not set")
            return value

        return cls(
            target=needed("TARGET"),
            scenario=needed("SCENARIO"),
            base=needed("BASE"),
            head=needed("HEAD"),
            limit=os.environ.get("GATE_LIMIT") or "2%",
            rounds=os.environ.get("GATE_ROUNDS") or "10",
            noise_floor=os.environ.get("GATE_NOISE_FLOOR", "true") == "true",
            arguments=tuple(shlex.split(os.environ.get("GATE_ARGUMENTS", ""))),
            out=Path(os.environ.get("GATE_OUT") or "loadgen-result"),
        )


@dataclass(frozen=True)
class Measured:
    """Result of a run of loadgen: its exit code, and its document as Markdown."""

    code: int
    markdown: str
    folder: Path

    def judgement(self) -> str | None:
        """Return the judgement in the run's record; `None` without one."""
        try:
            record = json.loads((self.folder / "run.json").read_text())
        except (OSError, ValueError):
            return None
        judged = (record.get("gate") or {}).get("judged") or []
        return str(judged[0]["judgement"]) if judged else None


def commit(ref: str) -> str:
    """Return the short hash of a commit, which is fetched if the checkout lacks it."""
    if not ref.strip("0"):
        raise Unusable("there is no commit to compare with: this is the first push of a branch; set `base`")
    if not resolved(ref):
        # A checkout of depth 1 has only its own commit.
        subprocess.run(["git", "fetch", "--quiet", "--depth", "1", "origin", ref], check=False)
    short = resolved(ref)
    if not short:
        raise Unusable(f"git knows no commit {ref}, here or at origin")
    return short


def resolved(ref: str) -> str:
    command = ["git", "rev-parse", "--quiet", "--verify", "--short=10", f"{ref}^{{commit}}"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def measure(settings: Settings, targets: Sequence[str], options: Sequence[str], name: str) -> Measured:
    """Run loadgen. Its progress goes to the log of the job."""
    folder = settings.out / name
    command = ["loadgen", "--scenario", settings.scenario, "--target", ",".join(targets), "--format", "markdown"]
    command += ["--rounds", settings.rounds, "--no-progress", "--out", str(folder), *options, *settings.arguments]
    print(f"$ {shlex.join(command)}", flush=True)
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    print(done.stdout, flush=True)
    return Measured(done.returncode, done.stdout, folder)


def compare(settings: Settings) -> Measured:
    """Compare both commits at the same time or, if that says nothing, in interleaved rounds: a server may wait for
    something else than the CPU."""
    old, new = (f"{settings.target}@{commit(ref)}" for ref in (settings.base, settings.head))
    settings.out.mkdir(parents=True, exist_ok=True)
    if settings.noise_floor:
        # loadgen keeps the noise floor of the machine, and prints it with the comparison.
        measure(settings, [old], ["--aa", "--duet"], "noise-floor")
    gate = ["--fail-on-regression", settings.limit, "--junit", str(settings.out / "junit.xml")]
    measured = measure(settings, [old, new], ["--duet", *gate], "duet")
    if measured.judgement() == UNJUDGED:
        measured = measure(settings, [old, new], gate, "interleaved")
    return measured


def headline(settings: Settings, measured: Measured) -> str:
    """Return the judgement in one line."""
    told = {
        "slower": "❌ slower",
        "not_slower": "✅ not slower",
        "open": "❔ neither shown to be slower nor ruled out",
    }
    judgement = told.get(measured.judgement() or UNJUDGED, "⚠️ could not be judged")
    return f"### loadgen: `{settings.target}` in `{settings.scenario}`: {judgement}"


def job() -> str:
    """Return a line that leads to the job, which has the report; empty elsewhere."""
    env = os.environ
    url = env.get("CI_JOB_URL", "")
    if "GITHUB_RUN_ID" in env:
        url = f"{env['GITHUB_SERVER_URL']}/{env['GITHUB_REPOSITORY']}/actions/runs/{env['GITHUB_RUN_ID']}"
    return f"\n[Log and report]({url})\n" if url else ""


def tell(settings: Settings, measured: Measured) -> None:
    """Write the result for people (`summary.md`, the job's summary) and for the next steps."""
    text = f"{headline(settings, measured)}\n\n{measured.markdown or 'Nothing was measured.'}\n{job()}"
    (settings.out / "summary.md").write_text(text)
    for variable, what in [
        ("GITHUB_STEP_SUMMARY", text),
        ("GITHUB_OUTPUT", f"judgement={measured.judgement() or UNJUDGED}\n"),
    ]:
        if path := os.environ.get(variable):
            with open(path, "a") as file:
                file.write(what)


def main() -> int:
    try:
        settings = Settings.from_environment()
        measured = compare(settings)
    except Unusable as why:
        print(f"loadgen: {why}", file=sys.stderr)
        return 2
    except FileNotFoundError as missing:
        print(f"loadgen: there is no program {missing.filename}", file=sys.stderr)
        return 2
    tell(settings, measured)
    return measured.code


if __name__ == "__main__":
    sys.exit(main())
