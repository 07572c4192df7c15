"""Runs a server that uses MS ms of CPU time for each request, and reports the CPU time that it used: HOST PORT MS."""

import asyncio
import json
import signal
import sys
import time

HOST, PORT, BUSY_S = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]) / 1e3
ANSWER = b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 4\r\n\r\ndone"


class Busy(asyncio.Protocol):
    requests = 0
    began = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        for _ in range(data.count(b"\r\n\r\n")):
            Busy.began = Busy.began or time.process_time()
            Busy.requests += 1
            until = time.thread_time() + BUSY_S
            while time.thread_time() < until:
                pass
            self.transport.write(ANSWER)


async def main() -> None:
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, stop.set)
    await loop.create_server(Busy, HOST, PORT)
    await stop.wait()
    # The CPU time of all requests, including the event loop's share.
    used = time.process_time() - Busy.began
    print(json.dumps({"requests": Busy.requests, "cpu_s": used}), flush=True)


asyncio.run(main())
