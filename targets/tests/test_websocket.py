"""Tests the WebSockets of targets, which send each message back."""

from collections.abc import Iterator

import httpx
import pytest
from websockets.exceptions import ConnectionClosedError
from websockets.sync.client import ClientConnection, connect

from targets.manifest import MANIFEST
from targets.tests.conftest import CONTRACT, Lab
from targets.tests.process import STOPS_WITHIN_S, started

MOST_BYTES = 2**20
SOCKETS = [name for name in CONTRACT if MANIFEST[name]["framework"] in {"Sanic", "FastAPI", "Django"}]
# Other servers have other limits, or end the connection without a close frame.
LIMITED = [name for name in SOCKETS if MANIFEST[name]["framework"] == "Sanic"]


def address(url: str) -> str:
    return f"{url.replace('http', 'ws', 1)}/ws"


@pytest.fixture(params=SOCKETS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def socket(lab: Lab, name: str) -> Iterator[ClientConnection]:
    with connect(address(lab.targets[name]), max_size=None) as socket:
        yield socket


@pytest.mark.parametrize("message", ["", "Löwe 🦁", "a" * MOST_BYTES, b"", b"\x00\xff", bytes(MOST_BYTES)])
def test_echoes_a_message_as_the_same_type(socket: ClientConnection, name: str, message: str | bytes) -> None:
    if not message and "sends no empty message over a WebSocket" in MANIFEST[name]["differs"]:
        return
    socket.send(message)
    assert socket.recv(10) == message


def test_echoes_messages_in_their_order(socket: ClientConnection) -> None:
    messages = [str(number) if number % 2 else b"%d" % number for number in range(1_000)]
    for message in messages:
        socket.send(message)
    assert [socket.recv(10) for _ in messages] == messages


def test_echoes_a_message_of_several_frames_as_one(socket: ClientConnection) -> None:
    socket.send(["a", "b", "c"])
    assert socket.recv(10) == "abc"


def test_answers_a_close(socket: ClientConnection) -> None:
    socket.close(1000)
    assert (socket.close_code, socket.close_reason) == (1000, "")


@pytest.mark.parametrize("name", LIMITED)
def test_refuses_a_larger_message(socket: ClientConnection) -> None:
    socket.send(bytes(MOST_BYTES + 1))
    with pytest.raises(ConnectionClosedError) as closed:
        socket.recv(10)
    assert closed.value.rcvd
    assert closed.value.rcvd.code == 1009


def test_refuses_a_request_without_an_upgrade(lab: Lab, name: str) -> None:
    expected = 426 if MANIFEST[name]["framework"] == "Sanic" else 404
    assert httpx.get(f"{lab.targets[name]}/ws").status_code == expected


def test_stops_at_once_with_an_open_socket(name: str) -> None:
    with started(name) as server, connect(f"ws://{server.host}:{server.port}/ws") as socket:
        socket.send("a")
        assert socket.recv(10) == "a"
        server.settle()
        server.process.terminate()
        server.process.wait(STOPS_WITHIN_S)
