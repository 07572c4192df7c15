//! Replaces the address and the number of workers in a command that a project states.

use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;

const HOST: &str = "{host}";
const PORT: &str = "{port}";
const WORKERS: &str = "{workers}";
const BOTH: &str = "{host}:{port}";

const PORT_OPTIONS: [&str; 3] = ["--port", "-p", "-P"];
const HOST_OPTIONS: [&str; 6] = ["--host", "-h", "-H", "--hostname", "--ip", "-b"];
const BIND_OPTIONS: [&str; 8] =
    ["--bind", "-b", "--listen", "-l", "--http", "--http-socket", "--address", "--addr"];
const WORKER_OPTIONS: [&str; 6] =
    ["--workers", "-w", "--processes", "--web-concurrency", "--wc", "-W"];

/// An option of a server, which is added to a command that has it by none of its names.
struct Added {
    names: &'static [&'static str],
    word: &'static str,
}

const HOST_ADDED: Added = Added { names: &["--host", "-H", "-h"], word: "--host={host}" };
const PORT_ADDED: Added = Added { names: &["--port", "-p"], word: "--port={port}" };
const BIND_ADDED: Added = Added { names: &["--bind", "-b"], word: "--bind={host}:{port}" };
const LISTEN_ADDED: Added =
    Added { names: &["--listen", "--port"], word: "--listen={host}:{port}" };
const WORKERS_ADDED: Added = Added { names: &["--workers", "-w"], word: "--workers={workers}" };

/// Servers, with the options that each must have.
const SERVERS: [(&str, &[Added]); 9] = [
    ("uvicorn", &[HOST_ADDED, PORT_ADDED, WORKERS_ADDED]),
    ("granian", &[HOST_ADDED, PORT_ADDED, WORKERS_ADDED]),
    ("sanic", &[HOST_ADDED, PORT_ADDED, WORKERS_ADDED]),
    ("fastapi", &[HOST_ADDED, PORT_ADDED, WORKERS_ADDED]),
    ("litestar", &[HOST_ADDED, PORT_ADDED]),
    ("flask", &[HOST_ADDED, PORT_ADDED]),
    ("gunicorn", &[BIND_ADDED, WORKERS_ADDED]),
    ("hypercorn", &[BIND_ADDED, WORKERS_ADDED]),
    ("waitress-serve", &[LISTEN_ADDED]),
];

static ADDRESS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let host = r"(?:0\.0\.0\.0|127\.0\.0\.1|localhost|\[::1?\]|\*|\{host\})";
    Regex::new(&format!(r"^{host}?:(?:\d{{1,5}}|\{{port\}})$")).ok()
});
/// An address in a URL on which a server listens, rather than one to which it connects.
static IN_URL: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?:0\.0\.0\.0|\[::\]|\*|\+):\d{1,5}").ok());

/// Replaces host, port and workers in the words of a command by loadgen's words, and adds those that a known server
/// lacks. `ports` are those on which the project says that it listens.
pub(super) fn replace(words: Vec<String>, ports: &[u16]) -> Vec<String> {
    let program = program(&words);
    let mut out: Vec<String> = Vec::new();
    for word in words {
        let option =
            out.last().filter(|last| last.starts_with('-') && !last.contains('=')).cloned();
        let replaced = match word.split_once('=').filter(|_| word.starts_with('-')) {
            Some((name, value)) => {
                value_of(name, value, ports).map(|value| format!("{name}={value}"))
            }
            None => option
                .and_then(|option| value_of(&option, &word, ports))
                .or_else(|| glued(&word))
                .or_else(|| alone(&word, &out, ports)),
        };
        out.push(replaced.unwrap_or(word));
    }
    if let Some(program) = &program {
        on_socket_no_more(program, &mut out);
        add(program, &mut out);
    }
    out
}

/// Returns the new value of an option; `None` to leave it.
fn value_of(option: &str, value: &str, ports: &[u16]) -> Option<String> {
    let plain = value.trim_matches(['"', '\'']);
    let is_number = !plain.is_empty() && plain.chars().all(|c| c.is_ascii_digit());
    if plain == PORT || (is_number && is_port_option(option, plain)) {
        return Some(PORT.to_owned());
    }
    if WORKER_OPTIONS.contains(&option)
        && (is_number || plain == WORKERS || plain.contains("nproc"))
    {
        return Some(WORKERS.to_owned());
    }
    if HOST_OPTIONS.contains(&option) && is_host(plain) {
        return Some(HOST.to_owned());
    }
    let binds = BIND_OPTIONS.contains(&option);
    if ((binds || !is_here(plain)) && is_address(plain)) || (binds && plain.starts_with("unix:")) {
        return Some(BOTH.to_owned());
    }
    if is_of(plain, ports) {
        return Some(PORT.to_owned());
    }
    in_url(value)
}

/// Returns whether an option with this number names a port. `-p 4` of some servers is a number of processes.
fn is_port_option(option: &str, number: &str) -> bool {
    let is_large = number.parse::<u16>().is_ok_and(|number| number >= 80);
    option == "--port" || (PORT_OPTIONS.contains(&option) && is_large)
}

/// Returns a text with the address in its URL replaced; `None` if it has none.
fn in_url(text: &str) -> Option<String> {
    let pattern = IN_URL.as_ref()?;
    pattern.is_match(text).then(|| pattern.replace(text, BOTH).into_owned())
}

fn is_of(text: &str, ports: &[u16]) -> bool {
    text.parse().is_ok_and(|port: u16| ports.contains(&port))
}

/// Returns the new text of a short option with its value in the same word.
fn glued(word: &str) -> Option<String> {
    let (option, value) = word.split_at_checked(2).filter(|_| word.starts_with('-'))?;
    let is_number = value.parse::<u16>().is_ok();
    match option {
        "-w" if is_number => Some(format!("-w{WORKERS}")),
        "-b" if is_address(value) => Some(format!("-b{BOTH}")),
        _ => None,
    }
}

/// Returns the new text of a word that is no value of an option, such as an address.
fn alone(word: &str, before: &[String], ports: &[u16]) -> Option<String> {
    let plain = word.trim_matches(['"', '\'']);
    let follows_option = before.last().is_some_and(|last| last.starts_with('-'));
    if is_address(plain) && !(follows_option && is_here(plain)) {
        return Some(BOTH.to_owned());
    }
    if ["0.0.0.0", "[::]"].contains(&plain) {
        return Some(HOST.to_owned());
    }
    let follows_server =
        before.last().is_some_and(|last| ["http.server", "runserver"].contains(&last.as_str()));
    if is_of(plain, ports) || (follows_server && plain.parse::<u16>().is_ok()) {
        let is_alone = before.last().is_some_and(|last| last == "runserver");
        return Some(if is_alone { BOTH } else { PORT }.to_owned());
    }
    in_url(word)
}

fn is_host(text: &str) -> bool {
    ["0.0.0.0", "127.0.0.1", "localhost", "::", "::1", "[::]", "*", HOST].contains(&text)
}

/// Returns whether an address is only of this machine: after most options, it may be that of a database.
fn is_here(address: &str) -> bool {
    address.starts_with("localhost") || address.starts_with("127.")
}

fn is_address(text: &str) -> bool {
    ADDRESS.as_ref().is_some_and(|pattern| pattern.is_match(text))
}

/// Returns the name of the server program that a command runs, without its path; for `python -m`, the module.
pub(super) fn program(words: &[String]) -> Option<String> {
    let name = |word: &String| Some(Path::new(word).file_name()?.to_string_lossy().into_owned());
    let first = words.first().and_then(name)?;
    match words.get(1).map(String::as_str) {
        Some("-m") if first.starts_with("python") => words.get(2).cloned(),
        _ => Some(first),
    }
}

/// Leaves out a socket of uvicorn and the watching of files.
fn on_socket_no_more(program: &str, words: &mut Vec<String>) {
    words.retain(|word| word != "--reload" && !word.starts_with("--uds="));
    if let Some(at) = words.iter().position(|word| word == "--uds").filter(|_| program == "uvicorn")
    {
        words.drain(at..(at + 2).min(words.len()));
    }
}

fn add(program: &str, words: &mut Vec<String>) {
    // Other subcommands of these programs serve nothing, and their options follow the subcommand.
    let serves = !["flask", "fastapi", "litestar"].contains(&program)
        || words.iter().any(|word| ["run", "dev"].contains(&word.as_str()));
    let added = SERVERS.iter().find(|(name, _)| *name == program).filter(|_| serves);
    for Added { names, word } in added.into_iter().flat_map(|(_, options)| *options) {
        let is_option = |given: &String| {
            names.iter().any(|name| match given.strip_prefix(name) {
                // A short option may have its value in the same word.
                Some(rest) => rest.is_empty() || rest.starts_with('=') || name.len() == 2,
                None => false,
            })
        };
        if !words.iter().any(is_option) {
            words.push((*word).to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_port_and_workers_are_loadgens() {
        for (before, after) in [
            (
                "uvicorn app:app --host 0.0.0.0 --port 8000 --reload",
                "uvicorn app:app --host {host} --port {port} --workers={workers}",
            ),
            (
                "gunicorn app:app -b :8000 -w 4 -k uvicorn.workers.UvicornWorker",
                "gunicorn app:app -b {host}:{port} -w {workers} -k uvicorn.workers.UvicornWorker",
            ),
            (
                "gunicorn -w4 -c gunicorn.conf.py app",
                "gunicorn -w{workers} -c gunicorn.conf.py app --bind={host}:{port}",
            ),
            (
                "gunicorn app --bind=unix:/run/a.sock",
                "gunicorn app --bind={host}:{port} --workers={workers}",
            ),
            (
                "python -m uvicorn a:b --uds /x",
                "python -m uvicorn a:b --host={host} --port={port} --workers={workers}",
            ),
            ("python manage.py runserver 0.0.0.0:8000", "python manage.py runserver {host}:{port}"),
            ("python manage.py runserver 8000", "python manage.py runserver {host}:{port}"),
            ("python -m http.server 8000", "python -m http.server {port}"),
            ("flask run -h 0.0.0.0 -p 5000", "flask run -h {host} -p {port}"),
            ("flask db upgrade", "flask db upgrade"),
            (
                "fastapi run app/main.py",
                "fastapi run app/main.py --host={host} --port={port} --workers={workers}",
            ),
            (
                "daphne -b 0.0.0.0 -p 8001 a.asgi:application",
                "daphne -b {host} -p {port} a.asgi:application",
            ),
            ("waitress-serve --listen=*:8000 a:b", "waitress-serve --listen={host}:{port} a:b"),
            ("dotnet x --urls http://0.0.0.0:5000", "dotnet x --urls http://{host}:{port}"),
            (
                "serve --port 1 --redis localhost:6379 --url=http://localhost:80/",
                "serve --port {port} --redis localhost:6379 --url=http://localhost:80/",
            ),
            ("serve 3000 --depth 3", "serve {port} --depth 3"),
            ("next start -p {port}", "next start -p {port}"),
        ] {
            let words = before.split(' ').map(str::to_owned).collect();
            assert_eq!(replace(words, &[3000]).join(" "), after);
        }
    }
}
