"""Runs a server with several processes and responses of alternating sizes: HOST PORT PROCESSES BYTES…

Each response takes about 2 ms of CPU time, so that a process with one user is busy on a busy machine, too.
"""

import asyncio
import itertools
import os
import signal
import socket
import sys

HOST, PORT, PROCESSES = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
SIZES = itertools.cycle(int(size) for size in sys.argv[4:])


class Sized(asyncio.Protocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        for _ in range(data.count(b"\r\n\r\n")):
            sum(range(150_000))
            size = next(SIZES)
            self.transport.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%s" % (size, b"x" * size))


async def serve(listener: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, stop.set)
    await loop.create_server(Sized, sock=listener)
    await stop.wait()


LISTENER = socket.create_server((HOST, PORT))
for _ in range(1, PROCESSES):
    if os.fork() == 0:
        break
asyncio.run(serve(LISTENER))
