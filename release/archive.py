"""Packs a built program with its completions, manual pages and documents.

    python -m release.archive TARGET PROGRAM FOLDER

writes `FOLDER/loadgen-VERSION-TARGET.tar.gz`, whose files are in a folder of the same name. The program runs once for
each completion script, so that it must be one for this machine. The same program gives the same archive, byte by byte.
"""

import gzip
import io
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from release.names import ROOT, stem

# Names under which shells look for completions.
COMPLETIONS = {"bash": "loadgen.bash", "zsh": "_loadgen", "fish": "loadgen.fish"}
DOCUMENTS = ["README.md", "CHANGELOG.md", "LICENSE"]


def files(program: Path) -> dict[str, tuple[bytes, int]]:
    """Return the content and the mode of each file in the archive, by its path there."""
    found = {"loadgen": (program.read_bytes(), 0o755)}
    found |= {name: ((ROOT / name).read_bytes(), 0o644) for name in DOCUMENTS}
    for shell, name in COMPLETIONS.items():
        script = subprocess.run([program, "completions", shell], check=True, capture_output=True).stdout
        found[f"completions/{name}"] = (script, 0o644)
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([program, "man", folder], check=True, capture_output=True)
        found |= {f"man/man1/{page.name}": (page.read_bytes(), 0o644) for page in Path(folder).iterdir()}
    return found


def pack(target: str, program: Path, folder: Path) -> Path:
    """Write the archive, and return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    archive = folder / f"{stem(target)}.tar.gz"
    # The time of gzip's header, and those of the files, are 0.
    with gzip.GzipFile(archive, "wb", mtime=0) as out, tarfile.open(fileobj=out, mode="w") as tar:
        for name, (content, mode) in sorted(files(program).items()):
            entry = tarfile.TarInfo(f"{stem(target)}/{name}")
            entry.size, entry.mode = len(content), mode
            tar.addfile(entry, io.BytesIO(content))
    return archive


if __name__ == "__main__":
    target, program, folder = sys.argv[1:]
    print(pack(target, Path(program), Path(folder)))
