"""Tests the comparison with peers, without any load. No test asserts a speed."""

import json
import os
import shutil
import socket
import ssl
import sys
import time
from dataclasses import replace
from http.client import HTTPConnection
from pathlib import Path

import pytest

from bench.page import page, report, table
from bench.passes import in_turn
from bench.plan import Plan
from bench.process import Failed, run
from bench.results import Runs, Sample, cost, failures, middle, paired
from bench.server import Protocol, Status, nginx, nginx_program, parse_status
from bench.tools import LOADGEN, TOOLS

CORE = min(os.sched_getaffinity(0))
SAMPLE = Sample(cpu_us=10, rate_per_s=50_000, memory_mb=20, opened=100, manager_percent=1.5, wall_s=3.2)
PLAN = Plan(passes=3, seconds=3, server_core=0, generator_core=1, other_cores=frozenset({0}))

needs_pinning = pytest.mark.skipif(not shutil.which("setpriv"), reason="setpriv and taskset are not installed")


def sample(cpu_us: float) -> Sample:
    return replace(SAMPLE, cpu_us=cpu_us)


def test_the_status_of_nginx_is_read() -> None:
    text = "Active connections: 3 \nserver accepts handled requests\n 16 16 310 \nReading: 0 Writing: 1 Waiting: 2 \n"
    assert parse_status(text) == Status(active=3, accepted=16, requests=310)


def test_medians_exclude_failed_runs() -> None:
    assert middle([sample(9), Failed("no"), sample(4), sample(5)], cost) == 5


def test_ratios_are_taken_within_passes() -> None:
    ours: list[Sample | Failed] = [sample(10), sample(20), Failed("no"), sample(30)]
    theirs = [sample(20), sample(20), sample(1), sample(40)]
    assert str(paired(ours, theirs, cost)) == "0.75 (0.50 to 1.00)"
    assert paired([Failed("no")], [SAMPLE], cost) is None


def test_failures_are_counted_and_each_reason_is_given_once() -> None:
    assert failures([SAMPLE, Failed("a"), Failed("b"), Failed("a")]) == "3 of 4 runs failed: a; b"
    assert failures([SAMPLE]) == ""
    assert failures([Failed(name) for name in "abcd"]) == "4 of 4 runs failed: a; b; c; and others"


def test_each_pass_has_a_separate_order() -> None:
    three = TOOLS[:3]
    a, b, c = three
    assert [in_turn(three, number) for number in range(4)] == [[a, b, c], [a, c, b], [c, a, b], [c, b, a]]
    assert all(sorted(in_turn(TOOLS, n), key=TOOLS.index) == TOOLS for n in range(20))


def test_a_table_is_aligned() -> None:
    assert table(["tool", "µs"], [["a", "1.0"], ["longer", "10.0"]]) == (
        "| tool   |   µs |\n| ------ | ---: |\n| a      |  1.0 |\n| longer | 10.0 |"
    )


def rows_of(text: str) -> dict[str, list[str]]:
    """Return the cells of each row of a report, by tool."""
    cells = ([cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if "|" in line)
    return {first: others for first, *others in cells}


def test_each_tool_has_a_row_whether_or_not_it_ran() -> None:
    runs: Runs = {
        LOADGEN.name: [sample(8), sample(10)],
        "loadgen, 4 workers": [SAMPLE, Failed("no")],
        "wrk": [sample(10), sample(10)],
        "Locust": [Failed("no"), Failed("no")],
    }
    text = report(PLAN, {1_000: runs})
    rows = rows_of(text)
    assert all(tool.name in rows for tool in TOOLS)
    assert rows["loadgen"] == ["9.0", "", "0.90", "50,000", "20", "100", "0.2"]
    assert rows["wrk"] == ["10.0", "0.90 (0.80 to 1.00)", "1.00", "50,000", "20", "100", "0.2"]
    assert rows["Locust"][0] == "failed"
    assert rows["oha"][0] == "missing"
    assert text.startswith("## 1,000 connections\n")
    for note in [
        "- Locust: 2 of 2 runs failed: no",
        "- oha is missing: run `make peer-oha`",
        "- loadgen, 4 workers: 1 of 2 runs failed: no",
        "- loadgen, 4 workers: 1.00 (1.00 to 1.00) times the requests/s of loadgen in one process; the manager "
        "process used 1.5 % of a core",
    ]:
        assert note in text.splitlines()


def test_the_page_describes_the_measurement() -> None:
    text = page(PLAN, {100: {LOADGEN.name: [SAMPLE] * 3}})
    assert "3 passes over all tools" in text
    assert "| `wrk -t1 -cN -d3s URL/`" in text
    assert str(Path.cwd()) not in text


@needs_pinning
def test_a_run_is_measured(tmp_path: Path) -> None:
    usage = run(
        [sys.executable, "-c", "bytearray(200_000_000); import time; time.sleep(0.5)"], CORE, 20, tmp_path / "o"
    )
    assert usage.cpu_s > 0
    assert usage.wall_s > 0.5
    assert 200 < usage.memory_mb < 400


@needs_pinning
def test_a_failed_run_gives_its_reason(tmp_path: Path) -> None:
    with pytest.raises(Failed, match=r"^exit code 3: the last word$"):
        run(["sh", "-c", "echo a word; echo the last word >&2; exit 3"], CORE, 20, tmp_path / "output")


@needs_pinning
def test_no_process_outlives_a_run_that_takes_too_long(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    with pytest.raises(Failed, match=r"^did not end within 0\.5 s$"):
        run(["sh", "-c", f"sleep 60 & echo $$ $! > {pids}; wait"], CORE, 0.5, tmp_path / "output")
    for pid in pids.read_text().split():
        assert gone(int(pid))


def gone(pid: int) -> bool:
    """Wait until a killed process is gone. A zombie counts as gone, because its reaping may take long."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except OSError:
            return True
        time.sleep(0.02)
    return False


needs_nginx = pytest.mark.skipif(
    not (nginx_program() and shutil.which("openssl")), reason="nginx or openssl is missing: run `make peer-wrk`"
)


@needs_pinning
@needs_nginx
def test_nginx_answers_counts_and_ends(tmp_path: Path) -> None:
    with nginx(CORE, tmp_path) as server:
        before = server.settled()
        connection = HTTPConnection("127.0.0.1", server.port, timeout=5)
        answers = []
        for path in ["/", "/many?id=1", "/"]:
            connection.request("GET", path)
            answers.append(json.loads(connection.getresponse().read()))
        connection.close()
        after = server.settled()
    assert answers[0] == answers[2] == {"message": "Hello world"}
    assert answers[1] == {"message": "Hello world", "id": 7, "values": ["a", "b"], "ok": True}
    assert (after.accepted - before.accepted, after.requests - before.requests) == (1, 3)
    assert len(set(server.ports.values())) == len(Protocol)
    with pytest.raises(ConnectionRefusedError):
        server.status()


@needs_pinning
@needs_nginx
def test_nginx_speaks_tls_with_the_same_cipher_to_all(tmp_path: Path) -> None:
    with nginx(CORE, tmp_path) as server:
        tls = ("TLSv1.3", "TLS_AES_128_GCM_SHA256")
        assert handshake(server.ports[Protocol.HTTPS], "http/1.1") == (*tls, "http/1.1")
        assert handshake(server.ports[Protocol.H2], "h2") == (*tls, "h2")


def handshake(port: int, offered: str) -> tuple[str | None, str, str | None]:
    """Return the version of TLS, the cipher and the version of HTTP that nginx chooses."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_alpn_protocols([offered])
    with (
        socket.create_connection(("127.0.0.1", port), timeout=5) as plain,
        context.wrap_socket(plain, server_hostname="localhost") as secured,
    ):
        cipher = secured.cipher()
        assert cipher is not None
        return secured.version(), cipher[0], secured.selected_alpn_protocol()


# An empty SETTINGS frame after the preface, then GET / on stream 1 with the static table of HPACK (RFC 7541):
# :method GET, :path /, :scheme http, and :authority as a literal.
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(3) + b"\x04\x00" + bytes(4)
HEADERS = b"\x82\x84\x86\x41\x01a"


@needs_pinning
@needs_nginx
def test_nginx_counts_each_request_of_http2_but_one_connection(tmp_path: Path) -> None:
    with nginx(CORE, tmp_path) as server:
        before = server.settled()
        with socket.create_connection(("127.0.0.1", server.ports[Protocol.H2C]), timeout=5) as connection:
            connection.sendall(PREFACE)
            for stream in (1, 3, 5):
                frame = len(HEADERS).to_bytes(3) + b"\x01\x05" + stream.to_bytes(4) + HEADERS
                connection.sendall(frame)
            answers = b""
            while answers.count(b"Hello world") < 3:
                answers += connection.recv(65_536) or pytest.fail("nginx closed the connection")
        after = server.settled()
    assert (after.accepted - before.accepted, after.requests - before.requests) == (1, 3)
