#!/usr/bin/env bash
# Puts `loadgen` on the PATH of the job: one that is there already, a released binary, or a build of this
# checkout. LOADGEN_VERSION is the tag of a release, or `source`.
set -euo pipefail

here=$(cd "$(dirname "$0")/.." && pwd)
version=${LOADGEN_VERSION:-source}

if command -v loadgen >/dev/null; then
    loadgen --version
    exit
fi

bin=${RUNNER_TEMP:-$(mktemp -d)}/loadgen-bin
mkdir -p "$bin"

if [ "$version" = source ]; then
    command -v cargo >/dev/null || {
        echo "loadgen: there is no cargo to build loadgen: install Rust, or name a release in \`version\`" >&2
        exit 1
    }
    cargo install --locked --path "$here/loadgen" --root "$bin/.."
    bin=$bin/../bin
else
    case $(uname -m) in
        x86_64) machine=x86_64 ;;
        aarch64 | arm64) machine=aarch64 ;;
        *) echo "loadgen: no release for $(uname -m): use version: source" >&2; exit 1 ;;
    esac
    archive=loadgen-${version#v}-$machine-unknown-linux-musl.tar.gz
    from=${LOADGEN_RELEASES:-https://github.com/${GITHUB_ACTION_REPOSITORY:?}/releases/download}/$version
    cd "$bin"
    curl --fail --silent --show-error --location --remote-name "$from/$archive"
    curl --fail --silent --show-error --location --remote-name "$from/SHA256SUMS"
    grep --fixed-strings "$archive" SHA256SUMS | sha256sum --check --strict -
    tar --extract --gzip --strip-components 1 --file "$archive"
fi

if [ -n "${GITHUB_PATH:-}" ]; then echo "$bin" >>"$GITHUB_PATH"; fi
"$bin/loadgen" --version
