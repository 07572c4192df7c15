//! Finds a server in `package.json`.

use std::path::Path;

use serde_json::Value;

use super::environment::Environment;
use super::folder::Folder;
use super::found::{Found, words};
use super::said;

/// Packages of frameworks, with their names for people.
const FRAMEWORKS: [(&str, &str); 6] = [
    ("@nestjs/core", "Nest"),
    ("fastify", "Fastify"),
    ("@hono/node-server", "Hono"),
    ("koa", "Koa"),
    ("express", "Express"),
    ("next", "Next.js"),
];

/// Files of locked packages, with the program that wrote them.
const MANAGERS: [(&str, &str); 4] =
    [("pnpm-lock.yaml", "pnpm"), ("yarn.lock", "yarn"), ("bun.lock", "bun"), ("bun.lockb", "bun")];

/// Usual files of servers, if `main` names none.
const MAINS: [&str; 6] =
    ["index.js", "server.js", "app.js", "src/index.js", "src/server.js", "src/app.js"];

/// Scripts that start a server, best first: Nest calls the one for production `start:prod`.
const SCRIPTS: [&str; 2] = ["start:prod", "start"];

/// Programs that build or show the pages of a browser, and applications of other kinds.
const OTHERS: [&str; 7] =
    ["vite", "webpack", "react-scripts", "parcel", "expo", "electron", "ng serve"];

/// Folders with the output of builds.
const BUILT: [&str; 4] = ["dist", "build", "lib", ".next"];

/// Returns the server of `package.json`: its script `start`, or else the main file of a framework.
pub(super) fn find(folder: &Folder, environment: &Environment) -> Option<Found> {
    let package: Value = serde_json::from_str(&folder.text("package.json")?).ok()?;
    let framework = FRAMEWORKS.iter().find(|(name, _)| !package["dependencies"][name].is_null());
    let mut scripts =
        SCRIPTS.iter().filter_map(|name| Some((*name, package["scripts"][name].as_str()?)));
    let mut found = match (scripts.next(), framework) {
        (Some((_, start)), None) if OTHERS.iter().any(|it| start.contains(it)) => return None,
        (Some((name, start)), _) => stated(name, start, &package, folder, environment),
        (None, Some((name, _))) => by_main(name, &package, folder),
        (None, None) => return None,
    };
    found.name = framework.map_or("node", |(name, _)| short_name(name)).to_owned();
    found.title = framework.map_or("Node", |(_, title)| title).to_owned();
    Some(found)
}

/// Returns the name of a package, without its scope.
fn short_name(package: &str) -> &str {
    match package {
        "@nestjs/core" => "nest",
        "@hono/node-server" => "hono",
        name => name,
    }
}

/// Returns the server that the script `name` starts with the line `start`.
fn stated(
    name: &str,
    start: &str,
    package: &Value,
    folder: &Folder,
    environment: &Environment,
) -> Found {
    let place = format!("package.json, script {name}");
    // A script of this name runs before the other one.
    let has_before = !package["scripts"][format!("pre{name}")].is_null();
    let parsed = said::of_line(&place, start, folder, environment).filter(|_| !has_before);
    let mut found = parsed.unwrap_or_else(|| {
        let mut found = Found { place, ..Found::default() };
        found.listens_on_port_variable();
        found
    });
    let program = found.command.first().cloned().unwrap_or_default();
    let installed = format!("node_modules/.bin/{program}");
    match program.as_str() {
        "node" | "nodejs" => {}
        // The script's programs are those of its packages.
        program if !program.is_empty() && !program.contains('/') && folder.has(&installed) => {
            found.command[0] = installed;
        }
        _ => {
            let manager = MANAGERS.iter().find(|(lock, _)| folder.has(lock));
            let manager = manager.map_or("npm", |(_, manager)| manager);
            let has_port = found.command.iter().any(|word| word.contains("{port}"));
            found.command = words(&[manager, "run", name]);
            // The port is in the script, where loadgen cannot replace it.
            if has_port {
                found.listens_on_port_variable();
            }
        }
    }
    let is_built = found.command.iter().any(|word| is_built(word)) || start.contains("next start");
    found.build = build(package, folder, is_built);
    found
}

/// Returns the server in the main file of a package.
fn by_main(framework: &str, package: &Value, folder: &Folder) -> Found {
    let main = package["main"].as_str().map(str::to_owned);
    let usual = || MAINS.iter().find(|name| folder.has(name)).unwrap_or(&MAINS[0]);
    let main = match framework {
        "@nestjs/core" => "dist/main.js".to_owned(),
        _ => main.unwrap_or_else(|| (*usual()).to_owned()),
    };
    let mut found = Found {
        place: "package.json".to_owned(),
        build: build(package, folder, is_built(&main)),
        command: words(&["node", &main]),
        ..Found::default()
    };
    found.listens_on_port_variable();
    found
}

fn is_built(word: &str) -> bool {
    let first = Path::new(word.trim_start_matches("./")).iter().next();
    first.is_some_and(|first| BUILT.iter().any(|built| first == *built))
}

fn build(package: &Value, folder: &Folder, is_needed: bool) -> Option<Vec<String>> {
    let manager = MANAGERS.iter().find(|(lock, _)| folder.has(lock));
    let manager = manager.map_or("npm", |(_, manager)| manager);
    let has = !package["scripts"]["build"].is_null();
    (is_needed && has).then(|| words(&[manager, "run", "build"]))
}
