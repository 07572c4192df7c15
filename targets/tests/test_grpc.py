"""Tests the target grpc: greeter.proto, the health service of gRPC, and how the server starts and stops."""

import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib.metadata import version
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from targets.manifest import MANIFEST
from targets.tests.conftest import Lab
from targets.tests.process import ROOT, STARTS_WITHIN_S, STOPS_WITHIN_S, started
from targets.tests.test_servers import MANY_USERS, NOBODY_LISTENS, paused

NAME = "grpc"
SERVICE = "loadgen.Greeter"
# A client's preface of HTTP/2, with a frame SETTINGS. The server answers with its own, of type 4 (RFC 9113, 3.4, 6.5).
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
HEADER_BYTES = 9

HealthRequest, HealthResponse = health_pb2.HealthCheckRequest, health_pb2.HealthCheckResponse

# Compiled by gRPC, and not by the target, as a user's client would be.
messages, services = grpc.protos_and_services("targets/greeter.proto")


@pytest.fixture(scope="session")
def channel(lab: Lab) -> Iterator[grpc.Channel]:
    with grpc.insecure_channel(urlsplit(lab.targets[NAME]).netloc) as channel:
        yield channel


@contextmanager
def alone(**environment: str) -> Iterator[grpc.Channel]:
    """Start the target without the lab, and connect to it."""
    with started(NAME, **environment) as server, grpc.insecure_channel(f"{server.host}:{server.port}") as channel:
        yield channel


@pytest.fixture(scope="session")
def greeter(channel: grpc.Channel) -> Any:
    return services.GreeterStub(channel)


def health_service(channel: grpc.Channel) -> Any:
    return health_pb2_grpc.HealthStub(channel)


def health(channel: grpc.Channel, service: str = "") -> Any:
    return health_service(channel).Check(HealthRequest(service=service), timeout=10).status


def failure(call: Any, request: Any) -> grpc.StatusCode:
    with pytest.raises(grpc.RpcError) as failed:
        call(request, timeout=10)
    return failed.value.code()


@pytest.mark.parametrize(("name", "greeting"), [("", "Hello world"), ("Löwe 🦁", "Hello Löwe 🦁")])
def test_greets(greeter: Any, name: str, greeting: str) -> None:
    assert greeter.Hello(messages.HelloRequest(name=name), timeout=10).message == greeting


def test_greets_in_streams(greeter: Any) -> None:
    asked = messages.HelloAgainRequest(name="Ada", times=3)
    assert [reply.message for reply in greeter.HelloAgain(asked, timeout=10)] == ["Hello Ada"] * 3
    requests = [messages.HelloRequest(name=name) for name in ("Ada", "Bob")]
    assert greeter.HelloAll(iter(requests), timeout=10).message == "Hello Ada, Bob"
    assert [reply.message for reply in greeter.HelloEach(iter(requests), timeout=10)] == ["Hello Ada", "Hello Bob"]


def test_reads_a_key(greeter: Any) -> None:
    for number in (1, 2, 3):
        assert greeter.Get(messages.GetRequest(key=f"loadgen:{number}"), timeout=10).value == f"value-{number}"


def test_has_no_value_for_a_missing_key(greeter: Any) -> None:
    assert not greeter.Get(messages.GetRequest(key="loadgen:missing"), timeout=10).HasField("value")


def test_adds_to_a_number(greeter: Any) -> None:
    key = f"loadgen:test:{uuid4()}"
    for number, total in ((1, 1), (5, 6), (-2, 4)):
        reply = greeter.Add(messages.AddRequest(key=key, number=number), timeout=10)
        assert (reply.added, reply.total) == (number, total)


def test_refuses_an_unknown_method(channel: grpc.Channel) -> None:
    assert failure(channel.unary_unary(f"/{SERVICE}/Nothing"), b"") is grpc.StatusCode.UNIMPLEMENTED


@pytest.mark.parametrize("service", ["", SERVICE])
def test_reports_its_health(channel: grpc.Channel, service: str) -> None:
    assert health(channel, service) == HealthResponse.SERVING


def test_knows_the_health_of_no_other_service(channel: grpc.Channel) -> None:
    check = health_service(channel).Check
    assert failure(check, HealthRequest(service="loadgen.Nothing")) is grpc.StatusCode.NOT_FOUND


def test_is_not_healthy_without_its_backends() -> None:
    for variable, url in NOBODY_LISTENS.items():
        with (
            started(NAME, **{variable: url}) as server,
            grpc.insecure_channel(f"{server.host}:{server.port}") as channel,
        ):
            assert health(channel) == HealthResponse.NOT_SERVING


def test_needs_redis_only_for_keys() -> None:
    # An empty variable counts as unset.
    for environment in ({}, dict.fromkeys(NOBODY_LISTENS, "")):
        with alone(**environment) as channel:
            greeter = services.GreeterStub(channel)
            assert health(channel) == HealthResponse.SERVING
            assert greeter.Hello(messages.HelloRequest(), timeout=10).message == "Hello world"
            assert failure(greeter.Get, messages.GetRequest(key="loadgen:1")) is grpc.StatusCode.UNKNOWN


@pytest.mark.usefixtures("many_open_files")
def test_serves_a_thousand_users_at_once() -> None:
    with started(NAME) as server, ExitStack() as users:
        address = (server.host, server.port)
        with paused(server):
            # If the backlog is too short, the kernel drops further connections, and their clients retry after a second.
            sockets = [users.enter_context(socket.create_connection(address, timeout=0.9)) for _ in range(MANY_USERS)]
        for user in sockets:
            user.settimeout(30)
            user.sendall(PREFACE)
        for user in sockets:
            header = user.recv(HEADER_BYTES, socket.MSG_WAITALL)
            assert (len(header), header[3]) == (HEADER_BYTES, 4)


def test_shares_its_port_with_no_second_server() -> None:
    with started(NAME) as server:
        command = [sys.executable, "-m", "targets", NAME, f"--port={server.port}"]
        second = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=STARTS_WITHIN_S, check=False)
    assert second.returncode == 1
    assert "Address already in use" in second.stderr


def test_stops_at_once_with_an_open_connection() -> None:
    with started(NAME) as server, grpc.insecure_channel(f"{server.host}:{server.port}") as channel:
        assert health(channel) == HealthResponse.SERVING
        server.process.terminate()
        assert server.process.wait(STOPS_WITHIN_S) == 0


def test_the_manifest_names_installed_packages() -> None:
    assert all(version(package) for package in MANIFEST[NAME]["packages"])
