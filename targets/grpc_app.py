"""Serves greeter.proto, and the health service of gRPC, with gRPC's asyncio server."""

import asyncio
import signal
import subprocess
import sys
from argparse import ArgumentParser
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from google.protobuf.message_factory import GetMessages
from grpc_health.v1 import health_pb2, health_pb2_grpc

from targets.async_backends import Backends
from targets.settings import Settings

PROTO = Path(__file__).with_name("greeter.proto")
SERVICE = "loadgen.Greeter"
GRACE_S = 1.0

Context = grpc.aio.ServicerContext[Any, Any]

backends = Backends(Settings.from_environment())


def compiled() -> dict[str, Any]:
    """Compile the messages of greeter.proto, and return their classes by name.

    The compiler runs in a process of its own: in the target it would take 9 MB of memory.
    """
    command = [sys.executable, "-m", "grpc_tools.protoc", f"--proto_path={PROTO.parent}"]
    command += ["--descriptor_set_out=/dev/stdout", PROTO.name]
    descriptors = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
    return GetMessages(FileDescriptorSet.FromString(descriptors).file)


MESSAGES = compiled()
HelloRequest, HelloReply = MESSAGES["loadgen.HelloRequest"], MESSAGES["loadgen.HelloReply"]
HelloAgainRequest = MESSAGES["loadgen.HelloAgainRequest"]
GetRequest, GetReply = MESSAGES["loadgen.GetRequest"], MESSAGES["loadgen.GetReply"]
AddRequest, AddReply = MESSAGES["loadgen.AddRequest"], MESSAGES["loadgen.AddReply"]


async def hello(request: Any, _: Context) -> Any:
    return HelloReply(message=f"Hello {request.name or 'world'}")


async def hello_again(request: Any, context: Context) -> AsyncIterator[Any]:
    for _ in range(request.times):
        yield await hello(request, context)


async def hello_all(requests: AsyncIterator[Any], _: Context) -> Any:
    names = [request.name async for request in requests]
    return HelloReply(message=f"Hello {', '.join(names)}")


async def hello_each(requests: AsyncIterator[Any], context: Context) -> AsyncIterator[Any]:
    async for request in requests:
        yield await hello(request, context)


async def get(request: Any, _: Context) -> Any:
    return GetReply(value=await backends.read_value(request.key))


async def add(request: Any, _: Context) -> Any:
    return AddReply(added=request.number, total=await backends.add(request.key, request.number))


class Health(health_pb2_grpc.HealthServicer):
    """Tells whether each configured backend responds."""

    async def Check(self, request: health_pb2.HealthCheckRequest, context: Context) -> health_pb2.HealthCheckResponse:
        if request.service not in ("", SERVICE):
            await context.abort(grpc.StatusCode.NOT_FOUND, f"no service {request.service}")
        answer = health_pb2.HealthCheckResponse
        return answer(status=answer.SERVING if await backends.healthy() else answer.NOT_SERVING)


async def serve(host: str, port: int) -> None:
    # By default, a second server on the same port would get a share of the connections.
    server = grpc.aio.server(options=[("grpc.so_reuseport", 0)])
    handlers = {
        "Hello": grpc.unary_unary_rpc_method_handler(hello, HelloRequest.FromString, HelloReply.SerializeToString),
        "HelloAgain": grpc.unary_stream_rpc_method_handler(
            hello_again, HelloAgainRequest.FromString, HelloReply.SerializeToString
        ),
        "HelloAll": grpc.stream_unary_rpc_method_handler(
            hello_all, HelloRequest.FromString, HelloReply.SerializeToString
        ),
        "HelloEach": grpc.stream_stream_rpc_method_handler(
            hello_each, HelloRequest.FromString, HelloReply.SerializeToString
        ),
        "Get": grpc.unary_unary_rpc_method_handler(get, GetRequest.FromString, GetReply.SerializeToString),
        "Add": grpc.unary_unary_rpc_method_handler(add, AddRequest.FromString, AddReply.SerializeToString),
    }
    server.add_registered_method_handlers(SERVICE, handlers)
    health_pb2_grpc.add_HealthServicer_to_server(Health(), server)
    server.add_insecure_port(f"{host}:{port}")
    ended = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
    async with backends:
        await server.start()
        await ended.wait()
        await server.stop(GRACE_S)


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--host", required=True)
    parser.add_argument("--port", type=int, required=True)
    wanted = parser.parse_args()
    asyncio.run(serve(wanted.host, wanted.port))


if __name__ == "__main__":
    main()
