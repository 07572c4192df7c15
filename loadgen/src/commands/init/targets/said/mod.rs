//! Finds servers by the commands that a project states: in a Procfile, a Dockerfile or a compose file.

mod address;
mod docker;
mod shell;

use std::collections::BTreeMap;
use std::path::Path;

use self::shell::{Line, last_command};
use super::environment::Environment;
use super::folder::Folder;
use super::found::{Found, WORDS};

/// Programs that only run another program, with the words after which that one stands.
const RUNNERS: [&[&str]; 12] = [
    &["poetry", "run"],
    &["uv", "run"],
    &["pipenv", "run"],
    &["pdm", "run"],
    &["rye", "run"],
    &["hatch", "run"],
    &["npx"],
    &["tini", "--"],
    &["dumb-init", "--"],
    &["tini"],
    &["dumb-init"],
    &["cross-env"],
];

/// Variables of an image that belong to its server rather than to its container.
const KEPT: [&str; 6] =
    ["FLASK_APP", "LITESTAR_APP", "QUART_APP", "DJANGO_SETTINGS_MODULE", "NODE_ENV", "APP_MODULE"];

/// Programs beside a server, which serve nothing.
const BESIDE: [&str; 8] =
    ["celery", "rq", "dramatiq", "arq", "taskiq", "huey_consumer.py", "alembic", "pytest"];

/// A command in one of its two forms.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Form {
    /// Words of a program and its arguments.
    Exec(Vec<String>),
    /// Line of a shell.
    Shell(String),
}

/// A command that a file states.
struct Said {
    place: String,
    form: Form,
    env: BTreeMap<String, String>,
    /// Ports on which the server listens.
    ports: Vec<u16>,
    /// Folder of the project in the container.
    folder: Option<String>,
}

/// Finds servers by the commands that the folder's files state.
pub(super) fn find(folder: &Folder, environment: &Environment) -> Vec<Found> {
    let said = procfile(folder).into_iter();
    let said = said.chain(docker::compose(folder)).chain(docker::dockerfile(folder));
    said.filter_map(|said| found(said, folder, environment)).collect()
}

fn procfile(folder: &Folder) -> Option<Said> {
    let text = folder.text("Procfile")?;
    let web = text.lines().find_map(|line| line.trim().strip_prefix("web:"))?;
    Some(Said {
        place: "Procfile".to_owned(),
        form: Form::Shell(web.trim().to_owned()),
        env: BTreeMap::new(),
        ports: Vec::new(),
        folder: None,
    })
}

/// Returns the server that a command line of the project's shell starts; `None` if loadgen would replace a word of
/// it, or if it starts nothing.
pub(super) fn of_line(
    place: &str,
    line: &str,
    folder: &Folder,
    environment: &Environment,
) -> Option<Found> {
    let form = Form::Shell(line.to_owned());
    let (env, ports) = (BTreeMap::new(), Vec::new());
    found(Said { place: place.to_owned(), form, env, ports, folder: None }, folder, environment)
}

fn found(said: Said, folder: &Folder, environment: &Environment) -> Option<Found> {
    let Said { place, form, env, ports, folder: inner } = said;
    let texts = match &form {
        Form::Exec(words) => words.iter().map(String::as_str).collect(),
        Form::Shell(text) => vec![text.as_str()],
    };
    if texts.iter().any(|text| WORDS.iter().any(|word| text.contains(word))) {
        return None;
    }
    let mut notes = Vec::new();
    let mut line = line(&form)?;
    // A script that waits for something and then runs a command, such as wait-for-it.sh.
    let waits = line.words.first().is_some_and(|word| word.ends_with(".sh"));
    if let Some(place) = line.words.iter().position(|word| waits && word == "--") {
        line.words.drain(..=place);
    }
    if let Some(script) = line.words.iter().find(|word| word.ends_with(".sh")) {
        let script = local(script, inner.as_deref());
        line = shell::last_of_script(&folder.text(&script)?)?;
        notes.push(format!("the last command of {script}"));
    } else if line.is_last_of_several {
        notes.push(format!("the last command of: {}", texts.join(" ")));
    }
    let Line { variables, mut words, needs_shell, folder: changed, .. } = line;
    words.iter_mut().for_each(|word| *word = local(word, inner.as_deref()));
    let ran = without_runner(&words, environment);
    words = address::replace(ran, &ports);
    let program = address::program(&words)?;
    let app = app(&program, &words);
    let is_manage = app.as_deref().is_some_and(|app| app == "manage" || app.ends_with(".manage"));
    if BESIDE.contains(&program.as_str())
        || (is_manage && !words.iter().any(|it| it == "runserver"))
    {
        return None;
    }
    let mut found = Found {
        name: name(&program, app.as_deref()).to_owned(),
        title: program.clone(),
        place,
        notes,
        app,
        ..Found::default()
    };
    if is_manage {
        (found.title, found.app) = ("Django".to_owned(), None);
    }
    let kept = env.iter().filter(|(name, _)| KEPT.contains(&name.as_str()));
    found.env = kept.map(|(name, value)| (name.clone(), value.clone())).chain(variables).collect();
    for (name, value) in &env {
        let is_port = name == "PORT"
            || (name.ends_with("PORT") && value.parse().is_ok_and(|it| ports.contains(&it)));
        if is_port && !words.iter().any(|word| word.contains("{port}")) {
            found.env.insert(name.clone(), "{port}".to_owned());
        }
    }
    found
        .env
        .retain(|_, value| !WORDS.iter().any(|word| value.contains(word)) || value == "{port}");
    let has_port = words.iter().chain(found.env.values()).any(|word| word.contains("{port}"));
    found.command = match needs_shell {
        true => in_shell(&words, changed.as_deref()),
        false => {
            [environment.word(&words[0])].into_iter().chain(words.into_iter().skip(1)).collect()
        }
    };
    if !has_port {
        found.listens_on_port_variable();
    }
    Some(found)
}

/// Returns the command to run. A shell in the exec form is the shell form.
fn line(form: &Form) -> Option<Line> {
    match form {
        Form::Shell(text) => last_command(text),
        Form::Exec(words) => match words.as_slice() {
            [shell, option, text, ..]
                if ["sh", "bash", "/bin/sh", "/bin/bash"].contains(&shell.as_str())
                    && option.starts_with('-')
                    && option.ends_with('c') =>
            {
                last_command(text)
            }
            [] => None,
            _ => Some(Line {
                words: words.iter().map(|word| shell::filled(word)).collect(),
                ..Line::default()
            }),
        },
    }
}

/// Returns a path of the container as it is here: in the folder, or a program by its name.
fn local(word: &str, inner: Option<&str>) -> String {
    let inside = [inner.unwrap_or("/app"), "/app", "/code", "/usr/src/app"];
    let inside = inside.iter().filter(|folder| folder.len() > 1);
    let mut inside = inside.filter_map(|folder| word.strip_prefix(*folder)?.strip_prefix('/'));
    if let Some(path) = inside.next().filter(|path| !path.contains(".venv/bin/")) {
        return path.to_owned();
    }
    let is_program = word.starts_with('/') && word.contains("/bin/");
    match Path::new(word).file_name().filter(|_| is_program) {
        Some(name) => name.to_string_lossy().into_owned(),
        None => word.to_owned(),
    }
}

/// Returns the words without programs that only run another one, if the environment has that one.
fn without_runner(words: &[String], environment: &Environment) -> Vec<String> {
    let runner = RUNNERS.iter().find(|runner| {
        words.len() > runner.len() && runner.iter().zip(words).all(|(one, word)| one == word)
    });
    let Some(runner) = runner else { return words.to_vec() };
    let rest = words[runner.len()..].iter().skip_while(|word| word.starts_with('-'));
    let rest: Vec<String> = rest.cloned().collect();
    let is_init = runner.last() == Some(&"--") || runner.len() == 1;
    let runs = rest.first().is_some_and(|program| is_init || environment.has(program));
    if runs { without_runner(&rest, environment) } else { words.to_vec() }
}

fn in_shell(words: &[String], folder: Option<&str>) -> Vec<String> {
    let change = folder.map(|folder| format!("cd '{folder}' && ")).unwrap_or_default();
    // A pipe is more than one program, which nothing can take the place of.
    let exec = if words.iter().any(|word| word.contains('|')) { "" } else { "exec " };
    ["sh".to_owned(), "-c".to_owned(), format!("{change}{exec}{}", words.join(" "))].into()
}

/// Returns the name of a target that runs this program; that of its module for an interpreter.
fn name<'a>(program: &'a str, app: Option<&'a str>) -> &'a str {
    let is_interpreter = program.starts_with("python") || ["node", "sh", "bash"].contains(&program);
    match app.and_then(|app| app.trim_end_matches(".js").rsplit('.').next()) {
        Some(module) if is_interpreter => module,
        None if is_interpreter => "web",
        _ => program,
    }
}

/// Returns the Python module, or the script, that a command serves.
fn app(program: &str, words: &[String]) -> Option<String> {
    let module =
        |path: &str| path.trim_end_matches(".py").trim_start_matches("./").replace('/', ".");
    let values = words.iter().enumerate().skip(1).filter(|(at, word)| {
        let is_value = words[at - 1].starts_with('-') && !words[at - 1].contains('=');
        !word.starts_with('-')
            && (!is_value || ["--app", "-A", "-m"].contains(&words[at - 1].as_str()))
    });
    let values: Vec<&str> = values.map(|(_, word)| word.as_str()).collect();
    let spec = values.iter().copied().find(|word| word.contains(':') && !word.contains("{port}"));
    let option = words.iter().find_map(|word| word.strip_prefix("--app="));
    if let Some(spec) = option.or(spec) {
        return Some(module(spec.split(':').next()?));
    }
    let python_file = values.iter().find(|word| word.ends_with(".py") || word.ends_with(".js"));
    match program {
        "gunicorn" => values.iter().find(|word| word.contains('.')).map(|word| module(word)),
        _ if program.starts_with("python") || ["fastapi", "node"].contains(&program) => {
            python_file.map(|file| module(file))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;
