"""Tests that clusters accept the manifests of `loadgen k8s render`, by the schemas of three versions of Kubernetes."""

import os
import subprocess
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

PROGRAM = Path(os.environ.get("LOADGEN_BUILT", Path(__file__).parents[3] / "target" / "release" / "loadgen"))
# The first that knows what the Job needs, and the two after it.
VERSIONS = ["1.33", "1.34", "1.35"]
ALL = ["--image-pull-policy=Always", "--pull-secret=a,b", "--requests=cpu=2,memory=1Gi", "--limits=memory=2Gi"]
ALL += ["--node-selector=pool=load,zone=a", "--toleration=load,for=tests:NoSchedule"]


def render(*words: str) -> list[dict[str, Any]]:
    line = [str(PROGRAM), "k8s", "render", "http://app:8000/", "--image=loadgen:1", "--name=lg", "--workers=3", *words]
    out = subprocess.run(line, check=True, capture_output=True, text=True).stdout
    return list(yaml.safe_load_all(out))


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("words", [[], ALL], ids=["least", "all"])
def test_manifests_are_valid(version: str, words: list[str]) -> None:
    manifests = render(*words)
    assert [manifest["kind"] for manifest in manifests] == ["Secret", "Service", "Job"]
    for manifest in manifests:
        # strict: without keys that the schema does not know.
        kubernetes_validate.validate(manifest, version, strict=True)


TARGET = """
[target.shop]
image = "registry/shop:1"
port = 9000
user = 1000
ready = "%s"
command = ["--port={port}", "--data={folder}"]
env = { GREETING = "hello" }
cpus = 0.5
memory = "64m"
"""


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("ready", ["/healthz", "grpc"])
def test_manifests_of_servers_are_valid(version: str, ready: str, tmp_path: Path) -> None:
    (tmp_path / "loadgen.toml").write_text(TARGET % ready)
    words = ["k8s", "render", "/", "--target=shop", "--replicas=2,4", "--image=loadgen:1", "--name=lg", *ALL]
    line = [str(PROGRAM), *words, "--target-node-selector=pool=app"]
    out = subprocess.run(line, check=True, capture_output=True, text=True, cwd=tmp_path).stdout
    manifests = list(yaml.safe_load_all(out))
    of_server = ["Secret", "Service", "Service", "Deployment"]
    assert [manifest["kind"] for manifest in manifests] == ["Secret", "Service", *of_server, *of_server, "Job"]
    for manifest in manifests:
        kubernetes_validate.validate(manifest, version, strict=True)


def test_an_unknown_key_is_refused() -> None:
    """The test above can fail."""
    job = render()[2]
    job["spec"]["successPolicies"] = {}
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(job, VERSIONS[0], strict=True)
    too_old = render()[2]
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(too_old, "1.27", strict=True)


def test_each_pod_mounts_its_own_part_of_the_secret() -> None:
    secret, _, job = render()
    assert sorted(secret["data"]) == ["0", "1", "2", "3", "scenario"]
    assert job["spec"]["completions"] == 4
    mounts = job["spec"]["template"]["spec"]["containers"][0]["volumeMounts"]
    given = {mount["mountPath"]: mount["subPathExpr"] for mount in mounts if mount["name"] == "given"}
    assert given == {"/run/loadgen/join": "$(JOB_COMPLETION_INDEX)", "/run/loadgen/scenario": "scenario"}
