"""Writes the SHA-256 of each file of a folder into `SHA256SUMS` there, as `sha256sum --check` reads it.

python -m release.checksums FOLDER
"""

import hashlib
import sys
from pathlib import Path

NAME = "SHA256SUMS"


def write(folder: Path) -> Path:
    """Write the sums of all files of the folder, and return the path of the file with the sums."""
    files = sorted(path for path in folder.iterdir() if path.is_file() and path.name != NAME)
    sums = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files]
    (folder / NAME).write_text("".join(sums))
    return folder / NAME


if __name__ == "__main__":
    print(write(Path(sys.argv[1])))
