"""Compares two commits of a target, and says whether the later one is slower: for CI jobs.

The settings are the variables GATE_TARGET, GATE_SCENARIO, GATE_BASE, GATE_HEAD, GATE_LIMIT, GATE_ROUNDS,
GATE_PRECISION, GATE_NOISE_FLOOR, GATE_PROFILE, GATE_ARGUMENTS, GATE_NAME and GATE_OUT. The exit code is that of
loadgen: 0, 3 for a regression, 1 if it cannot be judged, or another code for an error.
"""

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

UNJUDGED = "unjudged"

# Exit code of loadgen for each judgement, if nothing else is wrong.
EXPECTED = {"slower": 3, "not_slower": 0, "open": 0, UNJUDGED: 1}

# Greatest time for the rounds of a precision.
TIME_MAX = "4m"

# Secrets, and the files by which a step of a job changes the next ones: neither the code under test nor a process above
# it that this gate has started is started with them.
WITHHELD = {
    "GITHUB_TOKEN",
    "GH_TOKEN",
    "GITLAB_TOKEN",
    "CI_JOB_TOKEN",
    "GITHUB_ENV",
    "GITHUB_PATH",
    "GITHUB_OUTPUT",
    "GITHUB_STATE",
    "GITHUB_STEP_SUMMARY",
}


# The withheld variables of this process, in its memory only: all programs of a user can read with which variables a
# process of that user was started, in /proc.
RUNNER: dict[str, str] = {}

# Names the pipe with the withheld variables for this program, when it has started itself again without them.
HANDED = "GATE_HANDED"


class Unusable(Exception):
    """Reason why nothing can be measured."""


def name() -> str:
    """Return the name of this gate: its target and scenario, and GATE_NAME if there is one."""
    scenario = Path(os.environ.get("GATE_SCENARIO", "")).stem
    words = [os.environ.get("GATE_TARGET", ""), scenario, os.environ.get("GATE_NAME", "")]
    return "-".join(re.sub(r"[^A-Za-z0-9_.]+", "-", word) for word in words if word)


def folder() -> Path:
    """Return the folder of the results of this gate."""
    return Path(os.environ.get("GATE_OUT") or "loadgen-result") / name()


@dataclass(frozen=True)
class Settings:
    """What to measure."""

    target: str
    scenario: str
    base: str
    head: str
    limit: str
    rounds: str
    precision: str
    noise_floor: bool
    profile: str
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
            precision=os.environ.get("GATE_PRECISION", ""),
            noise_floor=os.environ.get("GATE_NOISE_FLOOR", "true") == "true",
            profile=os.environ.get("GATE_PROFILE") or "8",
            arguments=tuple(shlex.split(os.environ.get("GATE_ARGUMENTS", ""))),
            out=folder(),
        )


@dataclass(frozen=True)
class Measured:
    """Result of a run of loadgen: its exit code, and its document as Markdown."""

    code: int
    markdown: str
    folder: Path

    def judgement(self) -> str | None:
        """Return the judgement in the run's record; `None` without one."""
        if self.code not in EXPECTED.values():
            return None
        try:
            record = json.loads((self.folder / "run.json").read_text())
        except (OSError, ValueError):
            return None
        judged = (record.get("gate") or {}).get("judged") or []
        if not judged:
            return None
        judgement = str(judged[0]["judgement"])
        # A run that failed for another reason passes nothing.
        return UNJUDGED if self.code == EXPECTED[UNJUDGED] else judgement


def commit(ref: str) -> str:
    """Return the short hash of a commit, which is fetched if the checkout lacks it."""
    if not ref.strip("0"):
        raise Unusable("there is no commit to compare with: this is the first push of a branch; set `base`")
    if ref.startswith("-"):
        raise Unusable(f"{ref} is no commit")
    if not resolved(ref):
        # A checkout of depth 1 has only its own commit, without its parents.
        shallow = git("rev-parse", "--is-shallow-repository") == "true"
        depth = ["--depth", "2"] if shallow else []
        git("fetch", "--quiet", *depth, "origin", ref.split("^")[0].split("~")[0])
    short = resolved(ref)
    if not short:
        raise Unusable(f"git knows no commit {ref}, here or at origin: check out with `fetch-depth: 0`")
    return short


def resolved(ref: str) -> str:
    return git("rev-parse", "--quiet", "--verify", "--short=10", f"{ref}^{{commit}}")


def git(*words: str) -> str:
    """Return what git prints; nothing if it fails."""
    return subprocess.run(["git", *words], stdout=subprocess.PIPE, text=True, check=False).stdout.strip()


def is_withheld(name: str) -> bool:
    return name in WITHHELD or name.startswith("ACTIONS_")


def withdraw() -> None:
    """Keep the withheld variables in memory, and start this program again without them if it was started with them."""
    if (handed := os.environ.pop(HANDED, None)) is not None:
        with os.fdopen(int(handed)) as pipe:
            RUNNER.update(json.load(pipe))
        return
    withheld = {name: value for name, value in os.environ.items() if is_withheld(name)}
    if not withheld:
        return
    reading, writing = os.pipe()
    os.set_inheritable(reading, True)
    # A pipe holds more than the few variables of a runner.
    os.write(writing, json.dumps(withheld).encode())
    os.close(writing)
    kept = {name: value for name, value in os.environ.items() if not is_withheld(name)}
    os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], kept | {HANDED: str(reading)})


def of_code_under_test() -> dict[str, str]:
    """Return the environment for loadgen, and so for the builds and servers that it starts."""
    return {name: value for name, value in os.environ.items() if not is_withheld(name) and not name.startswith("GATE_")}


def measure(settings: Settings, targets: Sequence[str], options: Sequence[str], run: str) -> Measured:
    """Run loadgen, which saves the run of this name. Its progress goes to the log of the job."""
    out = settings.out / run
    command = ["loadgen", "--scenario", settings.scenario, "--target", ",".join(targets), "--format", "markdown"]
    command += ["--rounds", settings.rounds, "--no-progress", "--out", str(out), *options, *settings.arguments]
    print(f"$ {shlex.join(command)}", flush=True)
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False, env=of_code_under_test())
    print(done.stdout, flush=True)
    return Measured(done.returncode, done.stdout, out)


def compare(settings: Settings) -> Measured:
    """Compare both commits at the same time or, if that says nothing, in interleaved rounds: a server may wait for
    something else than the CPU."""
    if os.environ.get("GITHUB_EVENT_NAME") == "pull_request_target":
        raise Unusable(
            "pull_request_target would run the code of a fork with the rights of this repository: use pull_request"
        )
    if (settings.out / "duet").exists():
        raise Unusable(f"{settings.out} has the result of another gate: set `name`, or remove the folder")
    old, new = (f"{settings.target}@{commit(ref)}" for ref in (settings.base, settings.head))
    settings.out.mkdir(parents=True, exist_ok=True)
    if settings.noise_floor:
        # loadgen keeps the noise floor of the machine, and prints it with the comparison.
        measure(settings, [old], ["--aa", "--duet"], "noise-floor")
    gate = ["--fail-on-regression", settings.limit, "--junit", str(settings.out / "junit.xml")]
    if settings.precision:
        gate += ["--precision", settings.precision, "--time-max", TIME_MAX]
    measured = measure(settings, [old, new], ["--duet", *gate], "duet")
    if measured.judgement() == UNJUDGED:
        return measure(settings, [old, new], gate, "interleaved")
    if measured.judgement() == "slower" and settings.profile != "0":
        profiled = measure(settings, [old, new], ["--duet", f"--profile={settings.profile}"], "profile")
        return replace(measured, markdown=explained(measured.markdown, profiled))
    return measured


def explained(result: str, profiled: Measured) -> str:
    """Return a result with what a profile says about it: the functions that take longer first."""
    if not profiled.markdown:
        return f"{result}\n\nThe commits could not be profiled (exit code {profiled.code})."
    said = (line for line in profiled.markdown.splitlines() if line.startswith("- a request takes "))
    blamed = "\n".join(line for line in said if " more CPU time " in line and ": +" in line)
    details = f"<details><summary>Where the CPU time goes</summary>\n\n{profiled.markdown}\n</details>"
    return "\n\n".join(part.strip() for part in (blamed, result, details) if part.strip()) + "\n"


def headline(measured: Measured) -> str:
    """Return the judgement in a few words."""
    told = {
        "slower": "❌ slower",
        "not_slower": "✅ not slower",
        "open": "❔ neither shown to be slower nor ruled out",
        UNJUDGED: "⚠️ could not be judged",
    }
    judgement = measured.judgement()
    if judgement is None or measured.code != EXPECTED[judgement]:
        # A failed threshold, a server that went silent, an error.
        return f"❌ the run failed (exit code {measured.code})"
    return told[judgement]


def job() -> str:
    """Return a line that leads to the job, which has the report; empty elsewhere."""
    env = os.environ
    url = env.get("CI_JOB_URL", "")
    if "GITHUB_RUN_ID" in env:
        url = f"{env['GITHUB_SERVER_URL']}/{env['GITHUB_REPOSITORY']}/actions/runs/{env['GITHUB_RUN_ID']}"
    return f"\n[Log and report]({url})\n" if url else ""


def append(variable: str, text: str) -> None:
    """Append a text to the file that a variable of the runner names, if there is one."""
    if path := RUNNER.get(variable):
        with open(path, "a") as file:
            file.write(text)


def tell(judgement: str, told: str, details: str) -> None:
    """Write the result for people (`summary.md`, the job's summary) and for the next steps."""
    target, scenario = (os.environ.get(variable, "") for variable in ("GATE_TARGET", "GATE_SCENARIO"))
    text = f"### loadgen: `{target}` in `{scenario}`: {told}\n\n{details}\n{job()}"
    folder().mkdir(parents=True, exist_ok=True)
    (folder() / "summary.md").write_text(text)
    append("GITHUB_STEP_SUMMARY", text)
    append("GITHUB_OUTPUT", f"judgement={judgement}\n")


def main() -> int:
    withdraw()
    append("GITHUB_OUTPUT", f"name={name()}\nreport={folder()}\n")
    try:
        measured = compare(Settings.from_environment())
    except (Unusable, FileNotFoundError) as error:
        why = str(error) if isinstance(error, Unusable) else f"there is no program {error.filename}"
        print(f"loadgen: {why}", file=sys.stderr)
        tell(UNJUDGED, "⚠️ nothing was measured", why)
        return 2
    tell(measured.judgement() or UNJUDGED, headline(measured), measured.markdown or "Nothing was measured.")
    return measured.code


if __name__ == "__main__":
    sys.exit(main())
