#!/usr/bin/env bash
# Puts `loadgen` on the PATH of the job: a released binary, or a build of this checkout. LOADGEN_VERSION is the tag of
# a release, or `source`. One that is there already is used if it has this version, or for `source`.
set -euo pipefail

here=$(cd "$(dirname "$0")/.." && pwd)
version=${LOADGEN_VERSION:-source}

if found=$(loadgen --version 2>/dev/null); then
    if [ "$version" = source ] || [ "$found" = "loadgen ${version#v}" ]; then
        echo "$found"
        exit
    fi
fi

# Prints the checksum of each file named in the given list that does not fit.
check() {
    if command -v sha256sum >/dev/null; then sha256sum --check --strict -; else shasum -a 256 --check --strict -; fi
}

bin=${RUNNER_TEMP:-$(mktemp -d)}/loadgen-bin
mkdir -p "$bin"

if [ "$version" = source ]; then
    command -v cargo >/dev/null || {
        echo "loadgen: there is no cargo to build loadgen: install Rust, or name a release in \`version\`" >&2
        exit 1
    }
    # Here, because rustup reads the toolchain of the folder in which it is called.
    cd "$here"
    cargo install --locked --path loadgen --root "$bin/.."
    bin=$bin/../bin
else
    case $(uname -s)-$(uname -m) in
        Linux-x86_64) target=x86_64-unknown-linux-musl ;;
        Linux-aarch64) target=aarch64-unknown-linux-musl ;;
        Darwin-x86_64) target=x86_64-apple-darwin ;;
        Darwin-arm64) target=aarch64-apple-darwin ;;
        *) echo "loadgen: no release for $(uname -s) on $(uname -m): use version: source" >&2; exit 1 ;;
    esac
    repository=${LOADGEN_REPOSITORY:-${GITHUB_ACTION_REPOSITORY:-}}
    if [ -z "${LOADGEN_RELEASES:-}" ] && [ -z "$repository" ]; then
        echo "loadgen: which repository has the releases? Set LOADGEN_REPOSITORY to OWNER/loadgen" >&2
        exit 1
    fi
    archive=loadgen-${version#v}-$target.tar.gz
    from=${LOADGEN_RELEASES:-https://github.com/$repository/releases/download}/$version
    cd "$bin"
    curl --fail --silent --show-error --location --remote-name "$from/$archive"
    curl --fail --silent --show-error --location --remote-name "$from/SHA256SUMS"
    grep --fixed-strings "  $archive" SHA256SUMS | check
    # The checksums are from the same place as the archive; the provenance is signed.
    if [ -n "${GH_TOKEN:-}" ] && command -v gh >/dev/null; then
        gh attestation verify "$archive" --repo "$repository"
    fi
    tar --extract --gzip --strip-components 1 --file "$archive"
fi

"$bin/loadgen" --version
if [ -n "${GITHUB_PATH:-}" ]; then echo "$bin" >>"$GITHUB_PATH"; fi
