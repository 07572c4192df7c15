"""Runs the nginx that every tool loads, and reads its counts."""

import http.client
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from string import Template

from bench.process import Failed, last_line, pinned

STARTS_WITHIN_S = 5
SETTLES_WITHIN_S = 5


class Protocol(StrEnum):
    """Protocols that nginx serves, each on its own port. The values are names in nginx.conf."""

    HTTP1 = "http1"
    HTTPS = "https"
    # HTTP/2 from the first byte, without TLS (prior knowledge).
    H2C = "h2c"
    H2 = "h2"

    @property
    def scheme(self) -> str:
        return "https" if self in (Protocol.HTTPS, Protocol.H2) else "http"


@dataclass(frozen=True)
class Status:
    """Figures of stub_status: connections open now, and connections and requests since the start."""

    active: int
    accepted: int
    requests: int


class Server:
    """A running nginx. Its counts do not include the requests that read the counts."""

    def __init__(self, ports: dict[Protocol, int]) -> None:
        self.ports = ports
        self._asked = 0

    @property
    def port(self) -> int:
        return self.ports[Protocol.HTTP1]

    @property
    def url(self) -> str:
        return self.url_of(Protocol.HTTP1)

    def url_of(self, protocol: Protocol) -> str:
        return f"{protocol.scheme}://127.0.0.1:{self.ports[protocol]}"

    def status(self) -> Status:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=STARTS_WITHIN_S)
        connection.request("GET", "/status", headers={"Connection": "close"})
        text = connection.getresponse().read().decode()
        connection.close()
        self._asked += 1
        seen = parse_status(text)
        return Status(seen.active - 1, seen.accepted - self._asked, seen.requests - self._asked)

    def settled(self) -> Status:
        """Return the counts after every connection is closed, so that the counts are final."""
        deadline = time.monotonic() + SETTLES_WITHIN_S
        while (status := self.status()).active > 0:
            if time.monotonic() > deadline:
                raise Failed(f"left {status.active} connections open in nginx")
            time.sleep(0.05)
        return status


def parse_status(text: str) -> Status:
    active, accepted, _handled, requests = map(int, re.findall(r"\d+", text)[:4])
    return Status(active, accepted, requests)


@contextmanager
def nginx(core: int, folder: Path) -> Iterator[Server]:
    """Run nginx on one core, with all its files in a folder, and end nginx when the block ends."""
    server = Server(_free_ports())
    _certify(folder)
    command = _command(core, folder, server.ports)
    log = folder / "nginx.log"
    with log.open("wb") as output, subprocess.Popen(command, stderr=output, start_new_session=True) as process:
        try:
            _wait_for(server, process, log)
            yield server
        finally:
            process.terminate()


def nginx_program() -> str | None:
    # Debian installs nginx in a folder that only root's PATH contains.
    return shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")


def _certify(folder: Path) -> None:
    """Create a self-signed certificate with a key on the curve P-256, which tools must not verify."""
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", str(folder / "key.pem")]
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost"]
    command = ["openssl", "req", "-x509", "-days", "2", *key, *names, "-out", str(folder / "certificate.pem")]
    made = subprocess.run(command, capture_output=True, text=True, check=False, timeout=STARTS_WITHIN_S)
    if made.returncode:
        raise Failed(f"openssl made no certificate: {made.stderr.strip()}")


def _command(core: int, folder: Path, ports: dict[Protocol, int]) -> list[str]:
    template = Template(Path(__file__).with_name("nginx.conf").read_text())
    configuration = folder / "nginx.conf"
    configuration.write_text(template.substitute({name: str(port) for name, port in ports.items()}, folder=folder))
    # On TERM, the master process ends its worker, too.
    return pinned(core, [nginx_program() or "nginx", "-e", "stderr", "-c", str(configuration)], when_orphaned="TERM")


def _wait_for(server: Server, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + STARTS_WITHIN_S
    while True:
        try:
            server.status()
            return
        except OSError:
            if process.poll() is not None or time.monotonic() > deadline:
                raise Failed(f"nginx did not start: {last_line(log)}") from None
            time.sleep(0.05)


def _free_ports() -> dict[Protocol, int]:
    # All listeners are open at the same time, so that each has a port of its own.
    with ExitStack() as listeners:
        ports = {}
        for protocol in Protocol:
            listener = listeners.enter_context(socket.socket())
            listener.bind(("127.0.0.1", 0))
            ports[protocol] = int(listener.getsockname()[1])
        return ports
