//! Finds a project of Django by its `manage.py`.

use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;

use super::module::dotted;
use crate::commands::init::targets::environment::Environment;
use crate::commands::init::targets::folder::{Folder, Source};
use crate::commands::init::targets::found::{Found, words};

static SETTINGS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r#"DJANGO_SETTINGS_MODULE['"]\s*[,\]]\s*=?\s*['"]([\w.]+)['"]"#).ok()
});

/// Names of folders with settings that say nothing about the project.
const PLAIN: [&str; 6] = ["config", "conf", "core", "project", "settings", "server"];

/// Programs that can serve a project, best first.
const PROGRAMS: [&str; 6] =
    ["gunicorn", "uvicorn", "granian", "hypercorn", "daphne", "waitress-serve"];

/// Returns the server of each `manage.py`.
pub(super) fn find(folder: &Folder, environment: &Environment) -> Vec<Found> {
    let is_manage = |source: &&Source| source.path.file_name().is_some_and(|it| it == "manage.py");
    let all = folder.sources.iter().filter(is_manage);
    all.filter_map(|manage| project(manage, folder, environment)).collect()
}

fn project(manage: &Source, folder: &Folder, environment: &Environment) -> Option<Found> {
    let settings = SETTINGS.as_ref()?.captures(&manage.text)?[1].to_owned();
    let first = settings.split('.').next().unwrap_or_default();
    let base = manage.path.parent().unwrap_or(Path::new(""));
    let entry = |kind: &str| entry_module(folder, base, first, kind);
    let (wsgi, asgi) = (entry("wsgi"), entry("asgi"));
    // A project with only asgi.py has no module for gunicorn.
    let module = wsgi.clone().unwrap_or_else(|| format!("{first}.wsgi"));
    let has_any = PROGRAMS.iter().any(|it| environment.has(it) || environment.requires(it));
    let best = environment.best(&PROGRAMS);
    let mut found = Found {
        name: if PLAIN.contains(&first) { "django" } else { first }.to_owned(),
        title: "Django".to_owned(),
        place: manage.path.display().to_string(),
        app: Some(module.clone()),
        ..Found::default()
    };
    let base = base.to_str().filter(|base| !base.is_empty());
    let asgi = asgi.unwrap_or_else(|| format!("{first}.asgi"));
    let application = format!("{asgi}:application");
    let (host, port, workers) = ("--host={host}", "--port={port}", "--workers={workers}");
    let only_asgi = wsgi.is_none() && folder_has(folder, &asgi);
    let (program, arguments) = match best {
        // Without any server in the environment, the project's own one runs.
        _ if !has_any && environment.has("django-admin") => {
            let manage = manage.path.to_string_lossy();
            found.notes.push("Django's development server: gunicorn is not installed".to_owned());
            ("python", words(&[&manage, "runserver", "--noreload", "{host}:{port}"]))
        }
        "uvicorn" => {
            let base = base.map(|base| format!("--app-dir={base}"));
            let all = [Some(application.as_str()), base.as_deref()].into_iter().flatten();
            ("uvicorn", words(&all.chain([host, port, workers]).collect::<Vec<_>>()))
        }
        "granian" => {
            let module = if only_asgi { application } else { format!("{module}:application") };
            let interface = if only_asgi { "--interface=asgi" } else { "--interface=wsgi" };
            ("granian", words(&[interface, &module, host, port, workers]))
        }
        "hypercorn" => ("hypercorn", words(&[&application, "--bind={host}:{port}", workers])),
        "daphne" => ("daphne", words(&["-b", "{host}", "-p", "{port}", &application])),
        "waitress-serve" => {
            ("waitress-serve", words(&["--listen={host}:{port}", &format!("{module}:application")]))
        }
        program => {
            let base = base.map(|base| format!("--pythonpath={base}"));
            let all = [Some(module.as_str()), base.as_deref()].into_iter().flatten();
            (program, words(&all.chain(["--bind={host}:{port}", workers]).collect::<Vec<_>>()))
        }
    };
    if let (Some(base), "granian" | "hypercorn" | "daphne" | "waitress-serve") = (base, program) {
        found.env.insert("PYTHONPATH".to_owned(), base.to_owned());
    }
    found.command = [environment.word(program)].into_iter().chain(arguments).collect();
    Some(found)
}

/// Returns the module `wsgi` or `asgi` of the project, preferably in the package of its settings.
fn entry_module(folder: &Folder, base: &Path, first: &str, kind: &str) -> Option<String> {
    let getter = format!("get_{kind}_application");
    let all = folder.sources.iter().filter(|it| it.text.contains(&getter));
    let inner = all.filter_map(|it| it.path.strip_prefix(base).ok());
    let named = inner.filter(|path| path.file_stem().is_some_and(|stem| stem == kind));
    let best = named.min_by_key(|path| (!path.starts_with(first), path.components().count()))?;
    Some(dotted(&best.with_extension("")))
}

fn folder_has(folder: &Folder, module: &str) -> bool {
    let file = super::module::path_of(module).with_extension("py");
    folder.sources.iter().any(|source| source.path.ends_with(&file))
}
