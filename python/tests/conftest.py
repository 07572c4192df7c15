"""Fixtures of the package's tests: the program that Cargo built, and a server."""

import os
import textwrap
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parents[2]
# The Makefile sets the folder in which Cargo builds.
LOADGEN = Path(os.environ.get("LOADGEN_BUILT", ROOT / "target" / "release" / "loadgen"))

SHOP = textwrap.dedent("""
    import sys
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

    class Shop(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = 1 << 16  # one write for each response

        def do_GET(self):
            self.send_response(200 if self.path in ("/", "/products") else 404)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"ok")

        def log_message(self, *_):
            pass

    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Shop).serve_forever()
""")

TARGETS = '[target.shop]\ncommand = ["python", "shop.py", "{port}"]\n'


@pytest.fixture(autouse=True, scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Let the package find the built program, also in the processes of a test, and nothing of the developer's."""
    if not LOADGEN.is_file():
        pytest.skip("loadgen is not built: make build")
    folder = tmp_path_factory.mktemp("loadgen")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", str(LOADGEN.parent), prepend=os.pathsep)
        patch.setenv("PYTHONPATH", str(ROOT / "python"))
        # Tests of other parts run beside these.
        patch.setenv("LOADGEN_LOCKS", str(folder / "locks"))
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        for name in ("LOADGEN_HOME", "PYTEST_ADDOPTS", "PYTEST_XDIST_WORKER", "PYTEST_XDIST_WORKER_COUNT"):
            patch.delenv(name, raising=False)
        yield


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the current folder, which has a server of the user's."""
    (tmp_path / "shop.py").write_text(SHOP)
    (tmp_path / "loadgen.toml").write_text(TARGETS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # One write for each response.
    wbufsize = 1 << 16

    def do_GET(self) -> None:
        self.send_response(404 if self.path == "/nothing" else 200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="session")
def url() -> Iterator[str]:
    """Return the URL of a running server, which has no page `/nothing`."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
