"""Run one of the targets: `python -m targets sanic --port 8001`."""

import os
from argparse import ArgumentParser, Namespace

from targets.manifest import MANIFEST, command
from targets.settings import Settings


def arguments() -> Namespace:
    parser = ArgumentParser(prog="python -m targets", description=__doc__)
    # Only loadgen starts the upstreams that some targets need.
    parser.add_argument("target", choices=[name for name, entry in MANIFEST.items() if "upstreams" not in entry])
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--workers", type=int, default=1)
    return parser.parse_args()


def main() -> None:
    wanted = arguments()
    pool_size = Settings.from_environment().pool_size
    argv = command(wanted.target, wanted.host, wanted.port, wanted.workers, pool_size)
    os.execve(argv[0], argv, os.environ | MANIFEST[wanted.target].get("env", {}))


main()
