//! Load of a run, as one file for a manager on another host: the scenario with its rows, bodies, certificates and the
//! values of its environment variables, and the servers.

use std::io::Read as _;
use std::sync::Arc;

use flate2::Compression;
use flate2::read::{GzDecoder, GzEncoder};
use serde::{Deserialize, Serialize};

use crate::commands::run::Loaded;
use crate::experiment::command_line::{command_line, tell};
use crate::experiment::published::GroupApart;
use crate::experiment::subject::Server;
use crate::scenario::{Cells, OnDisk, Scenario};
use crate::text::count;

/// Most bytes that a packed file may unpack to.
const LARGEST: u64 = 1 << 30;

/// Load of a run: a scenario or a group, with its servers.
#[derive(Clone, Serialize, Deserialize)]
pub enum Load {
    /// One scenario.
    Run {
        /// The scenario.
        scenario: Box<Scenario>,
        /// The servers.
        servers: Option<Vec<Server>>,
        /// Whether the scenario is one request of the command line, instead of a file.
        one_request: bool,
    },
    /// A group of an experiment.
    Group(Box<GroupApart>),
}

/// Content of a packed file.
#[derive(Serialize, Deserialize)]
struct Packed {
    /// Version of the loadgen that packed it.
    version: String,
    load: Load,
    /// Cells of the rows of all scenarios, each once: many arms have the scenario of another.
    cells: Vec<Arc<Cells>>,
    /// Index of the cells of each scenario's rows, in their order.
    rows: Vec<usize>,
    /// The user's command line, for the record.
    command: Vec<String>,
}

impl From<Loaded> for Load {
    fn from(loaded: Loaded) -> Self {
        let Loaded { scenario, running: servers, one_request } = loaded;
        Self::Run { scenario: Box::new(scenario), servers, one_request }
    }
}

impl Load {
    fn scenarios(&mut self) -> Vec<&mut Scenario> {
        match self {
            Self::Run { scenario, .. } => vec![scenario],
            Self::Group(group) => {
                let arms = group.file.groups.iter_mut().flat_map(|group| &mut group.arms);
                arms.map(|arm| &mut arm.scenario).collect()
            }
        }
    }
}

/// Packs what is loaded.
///
/// # Errors
/// Returns a sentence if a scenario sends a file that is too large to be packed.
pub fn pack(mut load: Load) -> Result<Vec<u8>, String> {
    let (mut cells, mut rows) = (Vec::<Arc<Cells>>::new(), Vec::new());
    for scenario in load.scenarios() {
        if let Some(file) = scenario.files_on_disk().next() {
            return Err(too_large(file));
        }
        for of in &scenario.rows {
            let known = cells.iter().position(|cells| *cells == of.cells);
            rows.push(known.unwrap_or(cells.len()));
            if known.is_none() {
                cells.push(Arc::clone(&of.cells));
            }
        }
    }
    let version = env!("CARGO_PKG_VERSION").to_owned();
    let command = command_line();
    let packed = Packed { version, load, cells, rows, command };
    let text = serde_json::to_vec(&packed).map_err(|error| error.to_string())?;
    let mut bytes = Vec::new();
    let packing = GzEncoder::new(text.as_slice(), Compression::best()).read_to_end(&mut bytes);
    packing.map(|_| bytes).map_err(|error| error.to_string())
}

/// Unpacks what [`pack`] has packed. The record of this process then has the command line that packed it.
///
/// # Errors
/// Returns a sentence if the bytes are not such a file, or are of another version of loadgen.
pub fn unpack(bytes: &[u8]) -> Result<Load, String> {
    let mut text = Vec::new();
    let read = GzDecoder::new(bytes).take(LARGEST).read_to_end(&mut text);
    read.map_err(|error| error.to_string())?;
    let packed: serde_json::Value =
        serde_json::from_slice(&text).map_err(|error| error.to_string())?;
    let own = env!("CARGO_PKG_VERSION");
    match packed["version"].as_str() {
        Some(version) if version == own => {}
        other => {
            let other = other.unwrap_or("unknown");
            return Err(format!("it was packed by loadgen {other}, but this is loadgen {own}"));
        }
    }
    let packed: Packed = serde_json::from_value(packed).map_err(|error| error.to_string())?;
    let Packed { mut load, cells, rows, command, .. } = packed;
    tell(command);
    let mut rows = rows.into_iter().map(|index| cells.get(index));
    for of in load.scenarios().into_iter().flat_map(|scenario| &mut scenario.rows) {
        of.cells = rows.next().flatten().cloned().ok_or("it lacks rows")?;
    }
    Ok(load)
}

fn too_large(file: &OnDisk) -> String {
    format!(
        "a step sends a file of {} bytes: it does not fit into a Secret, which holds 1 MiB. Send a smaller file, or \
         start the workers on hosts that have it: --hosts",
        count(file.length())
    )
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::scenario::load_to_run;

    fn environment(_: &str) -> Option<String> {
        Some("x-1".to_owned())
    }

    fn survives(path: &Path) {
        let scenario = load_to_run(path, &environment).unwrap();
        let (name, url) = ("a,b=c".to_owned(), "http://a:8000".to_owned());
        let server = Server { name, url, deployed: None };
        let running = Some(vec![server]);
        let packed = pack(Loaded { scenario: scenario.clone(), running, one_request: true }.into());
        let Load::Run { scenario: again, servers, one_request } = unpack(&packed.unwrap()).unwrap()
        else {
            panic!("{} is a scenario", path.display());
        };
        // The cells are compared, too.
        assert_eq!(*again, scenario, "{}", path.display());
        assert_eq!((servers.unwrap()[0].name.as_str(), one_request), ("a,b=c", true));
    }

    #[test]
    fn all_that_a_scenario_needs_survives() {
        let scenarios = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios");
        let files = std::fs::read_dir(scenarios).unwrap().map(|entry| entry.unwrap().path());
        for path in files.filter(|path| path.extension().is_some_and(|end| end == "toml")) {
            survives(&path);
        }
        let folder = tempfile::tempdir().unwrap();
        let file =
            |name: &str, content: &[u8]| std::fs::write(folder.path().join(name), content).unwrap();
        file("users.csv", "name,password\nann,a\nbob,\"b,\n\u{1f980}\"\n".as_bytes());
        file("picture", &[0, 255, 128, 10]);
        file(
            "all.toml",
            br#"
            [load]
            users = 3
            iterations = 9
            [rows.users]
            file = "users.csv"
            [[step]]
            post = "/login"
            body = { json = { name = "{{ users.name }}", password = "{{ users.password }}", key = "{{ env KEY }}" } }
            expect = { status = 201 }
            capture = { token = { json = "/token" } }
            [[step]]
            put = "/picture"
            headers = { authorization = "Bearer {{ token }}" }
            body = { file = "picture" }
            "#,
        );
        survives(&folder.path().join("all.toml"));
    }

    #[test]
    fn foreign_bytes_and_other_versions_are_refused() {
        assert!(unpack(b"no gzip").is_err());
        let other = br#"{"version": "9.9.9"}"#;
        let mut bytes = Vec::new();
        GzEncoder::new(&other[..], Compression::fast()).read_to_end(&mut bytes).unwrap();
        let said = unpack(&bytes).err().unwrap();
        assert_eq!(said, "it was packed by loadgen 9.9.9, but this is loadgen 0.1.0");
    }
}
