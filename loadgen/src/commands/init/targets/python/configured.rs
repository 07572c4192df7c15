//! Applications and programs that the settings of a Python project name.

use toml::{Table, Value};

use super::module::path_of;
use super::source::Code;
use crate::commands::init::targets::environment::Environment;
use crate::commands::init::targets::folder::Folder;
use crate::commands::init::targets::found::Found;

/// An application that the project names, and the file that names it.
pub(super) struct Named {
    /// Module with dots, or a path.
    pub(super) module: String,
    /// Variable or factory; `None` for any.
    pub(super) name: Option<String>,
    pub(super) place: &'static str,
}

/// Returns the applications that `pyproject.toml`, `.flaskenv` and `.env` name.
pub(super) fn named(folder: &Folder) -> Vec<Named> {
    let project = project(folder);
    let entrypoint = || project.get("tool")?.get("fastapi")?.get("entrypoint")?.as_str();
    let entrypoint = entrypoint().map(|app| (app.to_owned(), "pyproject.toml"));
    let variables = [".flaskenv", ".env"].into_iter().flat_map(|file| {
        let text = folder.text(file).unwrap_or_default();
        let all = text.lines().filter_map(|line| app_variable(line).map(|app| (app, file)));
        all.collect::<Vec<_>>()
    });
    entrypoint.into_iter().chain(variables).map(|(app, place)| parsed(&app, place)).collect()
}

/// Returns the value of `FLASK_APP` or `LITESTAR_APP` in a line of a file with variables.
fn app_variable(line: &str) -> Option<String> {
    let line = line.trim();
    let (name, value) = line.strip_prefix("export ").unwrap_or(line).split_once('=')?;
    let is_app = ["FLASK_APP", "LITESTAR_APP", "QUART_APP"].contains(&name.trim());
    is_app.then(|| value.trim().trim_matches(['"', '\'']).to_owned())
}

fn parsed(app: &str, place: &'static str) -> Named {
    let (module, name) = app
        .split_once(':')
        .map_or((app, None), |(module, name)| (module, name.split('(').next().map(str::to_owned)));
    let module = module.trim_start_matches("./").trim_end_matches(".py").replace('/', ".");
    Named { module, name, place }
}

/// Returns the programs of `[project.scripts]` whose modules start a server.
pub(super) fn scripts(folder: &Folder, environment: &Environment) -> Vec<Found> {
    let project = project(folder);
    let tables = [
        project.get("project").and_then(|it| it.get("scripts")),
        project.get("tool").and_then(|it| it.get("poetry")?.get("scripts")),
    ];
    let all = tables.into_iter().flatten().filter_map(Value::as_table).flatten();
    let serves = |module: &str| {
        let file = path_of(module);
        let ends = [file.with_extension("py"), file.join("__init__.py"), file.join("__main__.py")];
        let mut sources = folder.sources.iter();
        sources
            .any(|it| ends.iter().any(|end| it.path.ends_with(end)) && Code::of(&it.text).serves())
    };
    let found = all.filter_map(|(script, entry)| {
        let module = entry.as_str()?.split(':').next()?;
        let mut found = Found {
            name: script.clone(),
            title: format!("the program {script}"),
            place: "pyproject.toml".to_owned(),
            command: vec![environment.word(script)],
            app: Some(module.to_owned()),
            ..Found::default()
        };
        found.listens_on_port_variable();
        serves(module).then_some(found)
    });
    found.collect()
}

fn project(folder: &Folder) -> Table {
    let text = folder.text("pyproject.toml").unwrap_or_default();
    text.parse().unwrap_or_default()
}
