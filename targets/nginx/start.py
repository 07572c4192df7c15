"""Writes the configuration of nginx to a folder, and becomes nginx."""

import os
from argparse import ArgumentParser
from pathlib import Path
from urllib.parse import urlsplit


def arguments() -> dict[str, str]:
    parser = ArgumentParser(description=__doc__)
    for name in ["host", "port", "workers", "folder"]:
        parser.add_argument(f"--{name}", required=True)
    return dict(vars(parser.parse_args()))


def address_in(variable: str) -> str:
    address = urlsplit(os.environ.get(variable, "")).netloc
    if not address:
        raise SystemExit(f"{variable} is not set to a URL such as http://127.0.0.1:8001")
    return address


def main() -> None:
    values = arguments()
    values |= {"auth": address_in("AUTH_URL"), "upstream": address_in("UPSTREAM_URL")}
    # By default, root's workers run as another user, who can't write to the folder.
    values["user"] = "user root;" if os.geteuid() == 0 else ""
    text = Path(__file__).with_name("nginx.conf").read_text()
    for name, value in values.items():
        text = text.replace(f"@{name}@", value)
    written = Path(values["folder"], "nginx.conf")
    written.write_text(text)
    os.execlp("nginx", "nginx", "-e", "stderr", "-p", values["folder"], "-c", str(written))


main()
