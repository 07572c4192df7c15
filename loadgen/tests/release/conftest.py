"""The files of a release in `dist/`, for the target of `--target`."""

import os
import subprocess
import sys
import tarfile
import venv
from pathlib import Path

import pytest

from release.names import ROOT, stem, version

DIST = ROOT / "dist"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--target", required=True, help="target triple of the program")


@pytest.fixture(scope="session")
def target(request: pytest.FixtureRequest) -> str:
    """Return the target triple."""
    return str(request.config.getoption("--target"))


@pytest.fixture(scope="session")
def unpacked(target: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder in the archive, unpacked."""
    folder = tmp_path_factory.mktemp("archive")
    with tarfile.open(DIST / f"{stem(target)}.tar.gz") as tar:
        tar.extractall(folder, filter="data")
    return folder / stem(target)


@pytest.fixture(scope="session")
def wheel(target: str) -> Path:
    """Return the wheel."""
    processor = target.split("-")[0]
    # macOS names one of the processors differently.
    system, processor = ("linux", processor) if "linux" in target else ("macosx", processor.replace("aarch64", "arm64"))
    wheels = DIST.glob(f"loadgen-{version()}-*.whl")
    (wheel,) = (path for path in wheels if system in path.name and processor in path.name)
    return wheel


@pytest.fixture(scope="session")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the program in an environment in which pip has installed the wheel, and nothing else."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=True)
    pip = [folder / "bin" / "pip", "install", "--quiet", "--no-index", wheel]
    subprocess.run(pip, check=True)
    return folder / "bin" / "loadgen"


@pytest.fixture(scope="session")
def only_python(target: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return an environment with `python3` on the PATH, the settings that reach PyPI, and nothing else."""
    folder = tmp_path_factory.mktemp("python")
    (folder / "python3").symlink_to(Path(sys.base_prefix) / "bin" / "python3")
    path = [str(folder)]
    # Only on Linux on x86_64, a wheel has Redis.
    if not target.startswith("x86_64-unknown-linux"):
        path += ["/usr/bin", "/usr/local/bin", "/opt/homebrew/bin"]
    # A proxy, and what this machine trusts.
    reach = ("PIP_", "UV_SYSTEM_CERTS", "SSL_CERT_", "HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy")
    reaching = {name: value for name, value in os.environ.items() if name.startswith(reach)}
    cache = tmp_path_factory.mktemp("cache")
    return reaching | {"PATH": os.pathsep.join(path), "XDG_CACHE_HOME": str(cache)}
