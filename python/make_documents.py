"""Writes the classes of the result documents, from their JSON Schemas: `make reference`.

With --check, changes nothing, and fails if the classes are not as the schemas say: `make docs`.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

# Type of each document, as `loadgen schema --document` names them.
DOCUMENTS = {
    "run": "RunRecord",
    "capacity": "CapacityRecord",
    "experiment": "ExperimentRecord",
    "compare": "RunsRecord",
}

WRITTEN = Path(__file__).parent / "loadgen" / "documents.py"

HEAD = """# Written by make_documents.py, from the JSON Schemas of the documents.
# ruff: noqa
\"\"\"Result documents of loadgen. docs/reference/result-document.md describes them.\"\"\"
"""

OPTIONS = [
    "--input-file-type=jsonschema",
    "--output-model-type=dataclasses.dataclass",
    "--target-python-version=3.11",
    "--frozen-dataclasses",
    "--keyword-only",
    "--enum-field-as-literal=all",
    "--use-schema-description",
    "--use-field-description",
    "--use-single-line-docstring",
    "--use-standard-collections",
    "--use-union-operator",
    "--use-title-as-name",
    "--disable-timestamp",
    "--disable-warnings",
]


def schema(loadgen: str) -> dict[str, Any]:
    """Return one JSON Schema of all documents, which share their types."""
    types: dict[str, Any] = {}
    for document, name in DOCUMENTS.items():
        printed = subprocess.run([loadgen, "schema", "--document", document], check=True, capture_output=True)
        whole = json.loads(printed.stdout)
        inner = whole.pop("$defs")
        for other, body in {**inner, name: whole}.items():
            if other in DOCUMENTS.values():
                # Only the schema of a whole document says which format this is, which the reader checks.
                body = {"type": "object", **{key: body[key] for key in ("description", "properties", "required")}}
                body["properties"]["schema"] = {"type": "string"}
            if types.setdefault(other, body) != body:
                raise SystemExit(f"two documents have different types {other}")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "$defs": types}


def classes(loadgen: str) -> str:
    """Return the source of the classes."""
    with tempfile.TemporaryDirectory() as folder:
        source, written = Path(folder, "documents.json"), Path(folder, "documents.py")
        source.write_text(json.dumps(schema(loadgen)))
        words = [sys.executable, "-m", "datamodel_code_generator", *OPTIONS]
        words += ["--formatters", "ruff-format", "--input", str(source), "--output", str(written)]
        subprocess.run(words, check=True)
        text = written.read_text()
    return HEAD + text[text.index("\nfrom __future__") :]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("loadgen", help="path of the program")
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    text = classes(arguments.loadgen)
    if not arguments.check:
        WRITTEN.write_text(text)
    elif WRITTEN.read_text() != text:
        print(f"{WRITTEN}: not as the code says: run make reference", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
