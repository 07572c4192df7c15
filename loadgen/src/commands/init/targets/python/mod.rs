//! Finds servers in Python: projects of Django, and applications in source files.

mod blanked;
mod configured;
mod django;
mod framework;
mod module;
mod servers;
mod source;

use std::path::Path;

use self::configured::Named;
use self::module::Module;
use self::servers::Server;
use self::source::{App, Code, Kind};
use super::environment::Environment;
use super::folder::{Folder, Source};
use super::found::Found;

/// Folders whose servers count only if the project has no others.
const ASIDE: [&str; 6] = ["examples", "example", "docs", "benchmarks", "scripts", "samples"];

/// Largest number of applications that are found: a folder with more is a collection of examples.
const MOST: usize = 12;

/// An application and the file in which it is.
struct Place<'a> {
    source: &'a Source,
    code: Code,
    app: App,
}

/// Finds servers in Python.
pub(super) fn find(folder: &Folder, environment: &Environment) -> Vec<Found> {
    let mut all = django::find(folder, environment);
    let named = configured::named(folder);
    let places = places(folder);
    for Place { source, code, app } in &places {
        let module = Module::of(&source.path, code, folder);
        let file = source.path.to_string_lossy();
        let server = Server { app, module: &module, file: &file, environment };
        let serving = server.serving();
        let of = named.iter().find(|named| names(named, &module, app));
        let place = of.map_or_else(
            || file.to_string(),
            |named| format!("{file}, which {} names", named.place),
        );
        all.push(Found {
            name: app.framework.title().to_lowercase(),
            title: app.framework.title().to_owned(),
            place,
            notes: serving.note.into_iter().map(str::to_owned).collect(),
            command: serving.command,
            env: serving.env,
            build: None,
            app: Some(module.name.clone()),
        });
    }
    if all.is_empty() {
        all = configured::scripts(folder, environment);
    }
    // An application that the project names is the first of them.
    all.sort_by_key(|found| !found.place.contains(", which "));
    all.truncate(MOST);
    all
}

fn names(named: &Named, module: &Module, app: &App) -> bool {
    let is_module =
        named.module == module.name || named.module == format!("{}.{}", module.base, module.name);
    is_module && named.name.as_ref().is_none_or(|name| *name == app.name)
}

/// Returns the application of each file: a variable, or else a factory that no variable of a file is the result of.
fn places(folder: &Folder) -> Vec<Place<'_>> {
    let codes = || folder.sources.iter().filter(|it| may_have_app(&it.text));
    let codes: Vec<(&Source, Code)> = codes().map(|it| (it, Code::of(&it.text))).collect();
    let factories: Vec<App> = codes.iter().flat_map(|(_, code)| code.factories()).collect();
    let mut places = Vec::new();
    let mut called = Vec::new();
    for (source, code) in codes {
        let variable = code.variable(&factories);
        if variable.is_some() {
            called.extend(
                factories.iter().filter(|it| source.text.contains(&format!("{}(", it.name))),
            );
        }
        let app = variable.or_else(|| code.factories().into_iter().next());
        places.extend(app.map(|app| Place { source, code, app }));
    }
    places.retain(|place| {
        place.app.kind == Kind::Variable || !called.iter().any(|it| it.name == place.app.name)
    });
    let is_aside = |path: &Path| path.iter().any(|part| ASIDE.iter().any(|name| part == *name));
    if places.iter().any(|place| !is_aside(&place.source.path)) {
        places.retain(|place| !is_aside(&place.source.path));
    }
    places
}

/// Returns whether a closer look at a file is worth its time.
fn may_have_app(text: &str) -> bool {
    let words = ["App", "API", "Starlette", "Litestar", "Quart", "Sanic", "Flask", "Robyn", "app"];
    words.iter().any(|word| text.contains(word))
}
