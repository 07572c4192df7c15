//! Packs `lab/` into one compressed archive, which `src/lab/home/embedded.rs` embeds in the program.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

use flate2::Compression;
use flate2::write::GzEncoder;

fn main() -> Result<(), Box<dyn Error>> {
    let archive = PathBuf::from(env::var("OUT_DIR")?).join("lab.tar.gz");
    let encoder = GzEncoder::new(fs::File::create(archive)?, Compression::best());
    let mut tar = tar::Builder::new(encoder);
    // Without owners and times: the same files give the same program.
    tar.mode(tar::HeaderMode::Deterministic);
    for path in files(Path::new("lab"))? {
        tar.append_path_with_name(&path, path.strip_prefix("lab")?)?;
    }
    tar.into_inner()?.finish()?;
    // Cargo looks at all files in the folder, at new ones, and at the files to which links lead.
    println!("cargo::rerun-if-changed=lab");
    Ok(())
}

/// Returns the files in a folder and below, in the order of their paths.
fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        match path.is_dir() {
            true => found.extend(files(&path)?),
            false => found.push(path),
        }
    }
    found.sort();
    Ok(found)
}
