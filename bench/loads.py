"""Lists the loads under which tools are compared, with the tools of each load."""

from collections.abc import Sequence
from dataclasses import dataclass

from bench import claims
from bench.server import Protocol
from bench.tools import LOADGEN, LOADGEN_OPTIONS, Tool

# Least share of the requested connections, and of the requests of an open model: a run with fewer had another load.
ENOUGH_CONNECTIONS = 0.95
# In 3 s, wrk2 sends 92 %, because it opens its connections one after another, 5 ms apart.
ENOUGH_REQUESTS = 0.9


@dataclass(frozen=True)
class Load:
    """A load, and the tools that send it: loadgen, then its main rival, then the others."""

    # Name on the command line, which loads with several numbers of connections share.
    name: str
    title: str
    tools: Sequence[Tool]
    protocol: Protocol = Protocol.HTTP1
    connections: int = 100
    # Requests in flight on each connection.
    streams: int = 1
    # Requests/s of an open model; None in a closed model.
    rate: int | None = None

    @property
    def users(self) -> int:
        """Requests in flight: at most in an open model, always in a closed one."""
        return self.connections * self.streams

    @property
    def rival(self) -> Tool:
        """The tool with which loadgen is compared first; loadgen itself if there is no other."""
        return self.tools[min(1, len(self.tools) - 1)]

    @property
    def reports_latencies(self) -> bool:
        return any(tool.claimed for tool in self.tools)

    def lacking(self, requests: int, opened: int, seconds: int) -> str | None:
        """Return how a run fell short of this load; None if it had this load.

        An open model may open fewer connections: its rate decides how many it needs.
        """
        if requests == 0:
            return "nginx counted no request"
        if self.rate is None and opened < ENOUGH_CONNECTIONS * self.connections:
            return f"opened {opened:,} of {self.connections:,} connections"
        if self.rate is not None and requests < ENOUGH_REQUESTS * self.rate * seconds:
            return f"sent {requests / seconds:,.0f} of {self.rate:,} requests/s"
        return None


def _zrk(options: str = "") -> Tool:
    # Versions before 2 always need a rate. At a rate beyond its reach, zrk sends without pauses.
    arguments = f"-t1 -c{{connections}} -d{{seconds}}s -R1000000 --plain {options} {{url}}/"
    return Tool("zrk", "zrk", arguments, install="run `make peer-zrk`")


def _oha(options: str = "", claimed: claims.Reader | None = None) -> Tool:
    arguments = f"--no-tui -z {{seconds}}s -c {{connections}} {options} {{url}}/"
    return Tool("oha", "oha", arguments, install="run `make peer-oha`", claimed=claimed)


def _wrk() -> Tool:
    arguments = "-t1 -c{connections} -d{seconds}s {url}/"
    return Tool("wrk", "wrk", arguments, version="-v", install="run `make peer-wrk`")


def _h2load() -> Tool:
    arguments = "-t1 -c{connections} -m{streams} -D{seconds} {url}/"
    return Tool("h2load", "h2load", arguments, install="run `make peer-h2load`")


def _k6(script: str) -> Tool:
    arguments = f"run --quiet --no-usage-report --vus {{users}} --duration {{seconds}}s --env TARGET={{url}} {script}"
    return Tool("k6", "k6", arguments, version="version", install="run `make peer-k6`")


def _locust(file: str) -> Tool:
    arguments = (
        f"--locustfile {file} --headless --only-summary --host {{url}} --users {{users}} "
        "--spawn-rate {users} --run-time {seconds}s"
    )
    return Tool("Locust", "locust", arguments, install="run `make peer-locust`")


HTTP1 = [
    LOADGEN,
    _wrk(),
    Tool(
        "loadgen, four expectations and a template",
        "loadgen",
        f"--scenario bench/four_expectations.toml {LOADGEN_OPTIONS}",
    ),
    Tool("loadgen, 4 workers", "loadgen", f"--scenario direct {LOADGEN_OPTIONS} --workers 4", manager=True),
    _zrk(),
    Tool(
        "gcannon",
        "gcannon",
        "{url}/ -c {connections} -t 1 -d {seconds}s",
        version=None,
        install="run `make peer-gcannon`",
    ),
    _oha(),
    Tool("hey", "hey", "-z {seconds}s -c {users} {url}/", version=None, install="run `make peer-hey`"),
    _k6("bench/k6.js"),
    Tool(
        "Goose",
        "plain_goose",
        "--host {url} --users {users} --increase-rate 1000000 --run-time {seconds}s --no-telnet --quiet",
        install="run `make peer-goose`",
    ),
    _locust("bench/locustfile.py"),
]

# All follow the redirect after the login, and send the cookie that it sets.
JOURNEY = [
    Tool(LOADGEN.name, "loadgen", f"--scenario bench/journey.toml {LOADGEN_OPTIONS}", scenario="bench/journey.toml"),
    _k6("bench/journey_k6.js"),
    _locust("bench/journey_locustfile.py"),
]

HTTPS = [
    Tool(LOADGEN.name, "loadgen", f"--scenario direct {LOADGEN_OPTIONS} --insecure"),
    _wrk(),
    _zrk("-k"),
    _oha("--insecure"),
]


def _http2(scenario: str, options: str = "") -> list[Tool]:
    loadgen = Tool(LOADGEN.name, "loadgen", f"--scenario {scenario} {LOADGEN_OPTIONS} {options}", scenario=scenario)
    return [loadgen, _h2load(), _oha(f"-p {{streams}} --http2 {options}")]


OPEN = [
    Tool(
        LOADGEN.name,
        "loadgen",
        f"--scenario direct {LOADGEN_OPTIONS} --rate {{rate}}",
        claimed=claims.of_loadgen,
    ),
    Tool(
        "wrk2",
        "wrk2",
        "-t1 -c{connections} -d{seconds}s -R{rate} --latency {url}/",
        version="-v",
        install="run `make peer-wrk2`",
        claimed=claims.of_wrk2,
    ),
    Tool(
        "zrk",
        "zrk",
        "-t1 -c{connections} -d{seconds}s -R{rate} --plain --format json {url}/",
        install="run `make peer-zrk`",
        claimed=claims.of_document,
    ),
    # It sends each request at its own time, as loadgen does, and does nothing else.
    Tool(
        "one loop",
        "one_loop",
        "{url} {connections} {rate} {seconds}",
        version=None,
        install="run `make peer-loop`",
        claimed=claims.of_document,
    ),
    _oha("-q {rate} --latency-correction --output-format json", claims.of_oha),
]


def loads(names: Sequence[str], connections: Sequence[int]) -> list[Load]:
    """Return the loads with these names; the load `http1` once for each number of connections."""
    return [load for name in names for load in _named(name, connections)]


def _named(name: str, connections: Sequence[int]) -> list[Load]:
    if name == "http1":
        return [Load(name, f"HTTP/1.1, {number:,} connections", HTTP1, connections=number) for number in connections]
    return [load for load in OTHERS if load.name == name]


OTHERS = [
    Load("https", "HTTPS (TLS 1.3), 100 connections", HTTPS, Protocol.HTTPS),
    Load("h2c", "HTTP/2 without TLS, 100 connections", _http2("bench/h2.toml"), Protocol.H2C),
    Load(
        "h2c",
        "HTTP/2 without TLS, 10 connections with 10 streams each",
        _http2("bench/h2_shared.toml"),
        Protocol.H2C,
        connections=10,
        streams=10,
    ),
    Load("h2", "HTTP/2 with TLS 1.3, 100 connections", _http2("bench/h2.toml", "--insecure"), Protocol.H2),
    Load("open", "Open model, 5,000 requests/s by up to 100 users", OPEN, rate=5_000),
    Load("journey", "A login, its redirect and ten pages with the session cookie, 100 users", JOURNEY),
]
NAMES = list(dict.fromkeys(["http1", *(load.name for load in OTHERS)]))


def all_tools() -> dict[str, Tool]:
    """Return one tool of each name."""
    tools = [*HTTP1, *(tool for load in OTHERS for tool in load.tools)]
    return {tool.name: tool for tool in reversed(tools)}
