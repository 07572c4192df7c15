//! Reads `loadgen.toml`: the targets of a user, and what the lab's backends hold for them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use toml::Spanned;

use super::entry::{Entry, INNER_PORT, OwnProfiler, SOCKET};
use super::ready::Ready;
use super::{Fault, Fill, Init, Inits, Manifest, checked, in_order};
use crate::scenario::{Backend as Kind, Cpus, Memory, parse_duration};

/// Word that loadgen replaces by the port on which a target must listen.
const PORT: &str = "{port}";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    target: BTreeMap<String, Spanned<Target>>,
    #[serde(default)]
    backend: Backends,
}

/// Table `[target.NAME]`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Target {
    #[serde(default)]
    command: Vec<String>,
    image: Option<String>,
    port: Option<u16>,
    user: Option<u32>,
    cpus: Option<Cpus>,
    memory: Option<Memory>,
    ready: Option<Ready>,
    profile: Option<OwnProfiler>,
    start_timeout: Option<StartTimeout>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    build: Option<Vec<String>>,
    framework: Option<String>,
    server: Option<String>,
    language: Option<String>,
    #[serde(default)]
    packages: Vec<String>,
    #[serde(default)]
    differs: Vec<String>,
    #[serde(default = "yes")]
    default: bool,
    replicas: Option<u32>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct Backends {
    postgres: Option<Spanned<Backend>>,
    redis: Option<Spanned<Backend>>,
}

/// Time in which a target must become ready, such as "60s".
#[derive(Deserialize)]
#[serde(try_from = "String")]
struct StartTimeout(Duration);

impl TryFrom<String> for StartTimeout {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        const LONGEST: Duration = Duration::from_secs(3_600);
        match parse_duration(&text) {
            Ok(time) if !time.is_zero() && time <= LONGEST => Ok(Self(time)),
            _ => Err("`start_timeout` must be a time of up to an hour, such as \"60s\"".to_owned()),
        }
    }
}

/// Table `[backend.NAME]`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Backend {
    init: Option<PathBuf>,
    fill: Option<Vec<String>>,
    #[serde(default)]
    env: BTreeMap<String, String>,
}

fn yes() -> bool {
    true
}

/// Reads the text of `loadgen.toml`.
pub(super) fn parse(text: &str) -> Result<Manifest, Fault> {
    let file: File = toml::from_str(text).map_err(Fault::toml)?;
    let targets = in_order(file.target).into_iter().map(|(name, target)| {
        let (span, target) = (target.span(), target.into_inner());
        let has = |word: &str| {
            target.command.iter().chain(target.env.values()).any(|it| it.contains(word))
        };
        let fault = |message: &str, help: &str| {
            let message = format!("target \"{name}\": {message}");
            Err(Fault { help: Some(help.to_owned()), ..Fault::at(span.clone(), message) })
        };
        let in_container = [
            ("port", target.port.is_some()),
            ("user", target.user.is_some()),
            ("cpus", target.cpus.is_some()),
            ("memory", target.memory.is_some()),
        ];
        let given = in_container.into_iter().find(|(_, given)| *given);
        if let (None, Some((key, _))) = (&target.image, given) {
            let message = format!("`{key}` is for containers, but it has no `image`");
            return fault(
                &message,
                "add `image`, and run with --runtime podman or `loadgen k8s`, or leave out the key",
            );
        }
        if target.user == Some(0) {
            return fault("`user` is root", "name another user by its ID, or leave out `user`");
        }
        if target.image.is_none() && !target.command.is_empty() && !has(PORT) && !has(SOCKET) {
            return fault(
                &format!("neither the command nor env has {PORT} or {SOCKET}"),
                "loadgen chooses a free port: pass it to the program, such as --port={port}",
            );
        }
        if has(SOCKET) && target.image.is_some() {
            let help = "listen on {port}, or leave out `image`";
            return fault("a socket in a container cannot be reached from outside", help);
        }
        if has(SOCKET) && has(PORT) {
            let help = "loadgen loads a target at one place: write one target for each";
            return fault(&format!("it has both {PORT} and {SOCKET}"), help);
        }
        if target.profile.as_ref().is_some_and(|profile| profile.command.is_empty()) {
            let help = "write a profiler and its arguments, with {pid} for the ID of the server";
            return fault("the command of `profile` is empty", help);
        }
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if !name.starts_with(|c: char| c.is_ascii_alphanumeric()) || !name.chars().all(plain) {
            let message =
                format!("target \"{name}\": a name has only letters, digits, `-`, `_` and `.`");
            return Err(Fault::at(span, message));
        }
        let shows = |backend: &Kind| {
            let url = format!("{{{backend}}}");
            target.command.iter().any(|word| word.contains(&url))
        };
        if Kind::ALL.iter().any(shows) {
            return fault(
                "all users of this machine see the password of a URL in the command",
                "put the URL into a variable: env = { DATABASE_URL = \"{postgres}\" }",
            );
        }
        checked(name.clone(), entry(name, target), span)
    });
    let targets = targets.collect::<Result<_, _>>()?;
    let Backends { postgres, redis } = file.backend;
    let inits =
        Inits { postgres: init(Kind::Postgres, postgres)?, redis: init(Kind::Redis, redis)? };
    Ok(Manifest { targets, inits, own: true })
}

/// Returns what fills a backend.
fn init(backend: Kind, table: Option<Spanned<Backend>>) -> Result<Init, Fault> {
    let Some(table) = table else { return Ok(Init::default()) };
    let (span, Backend { init, fill, env }) = (table.span(), table.into_inner());
    let fault = |message: &str, help: &str| {
        let message = format!("backend \"{backend}\": {message}");
        Err(Fault { help: Some(help.to_owned()), ..Fault::at(span.clone(), message) })
    };
    let url = format!("{{{backend}}}");
    match &fill {
        None if init.is_none() => fault(
            "nothing fills it",
            "add `init`, a file for the backend, or `fill`, a command line",
        ),
        None if !env.is_empty() => fault("only `fill` has variables", "add `fill`, a command line"),
        Some(command) if command.is_empty() => {
            fault("the command of `fill` is empty", "write a program and its arguments")
        }
        Some(command) if command.iter().any(|word| word.contains(&url)) => fault(
            "all users of this machine see the password of a URL in the command",
            "the environment of the command has the URL: DATABASE_URL or REDIS_URL",
        ),
        _ => Ok(Init { file: init, fill: fill.map(|command| Fill { command, env }) }),
    }
}

fn entry(name: String, target: Target) -> Entry {
    // Of an image with a program, the command may be the options alone.
    let program = target.command.first().filter(|word| !word.starts_with('-'));
    let program = program.map(|word| Path::new(word).file_name());
    let program = program.flatten().map(|name| name.to_string_lossy().into_owned());
    Entry {
        framework: target.framework.unwrap_or(name),
        server: target.server.or(program).or_else(|| target.image.clone()).unwrap_or_default(),
        language: target.language.unwrap_or_default(),
        packages: target.packages,
        requires: Vec::new(),
        build: None,
        prepare: target.build,
        image: target.image,
        port: target.port.unwrap_or(INNER_PORT),
        user: target.user,
        ready: target.ready.unwrap_or(Ready::Listens),
        profile: target.profile,
        start_timeout: target.start_timeout.map(|StartTimeout(time)| time),
        command: target.command,
        differs: target.differs,
        env: target.env,
        contract: false,
        upstreams: BTreeMap::new(),
        default: target.default,
        replicas: target.replicas,
        cpus: target.cpus,
        memory: target.memory,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHOP: &str = r#"
        [target.shop]
        command = ["uvicorn", "shop:app", "--host={host}", "--port={port}"]
        ready = "/healthz"
        env = { DATABASE_URL = "{postgres}" }
        build = ["pip", "install", "-q", "."]
        [target.fast]
        command = ["bin/granian", "--port", "{port}"]
        [backend.postgres]
        init = "schema.sql"
    "#;

    #[test]
    fn targets_have_the_order_and_the_defaults_of_the_file() {
        let manifest = parse(SHOP).unwrap();
        assert_eq!(manifest.names(), ["shop", "fast"]);
        let [shop, fast] = manifest.targets() else { panic!() };
        let path = Ready::Path("/healthz".to_owned());
        assert_eq!((&shop.entry.ready, &fast.entry.ready), (&path, &Ready::Listens));
        assert_eq!((shop.backends(), fast.backends()), (vec![Kind::Postgres], vec![]));
        assert_eq!((&*fast.entry.framework, &*fast.entry.server), ("fast", "granian"));
        let postgres = Init { file: Some("schema.sql".into()), fill: None };
        assert_eq!(manifest.inits, Inits { postgres, redis: Init::default() });
    }

    #[test]
    fn a_backend_is_filled_by_a_file_and_a_command() {
        let fill = "init = \"schema.sql\"\nfill = [\"seed\", \"-q\"]\nenv = { A = \"{postgres}\" }";
        let manifest = parse(&SHOP.replace("init = \"schema.sql\"", fill)).unwrap();
        let Init { file, fill } = manifest.inits.postgres;
        let command = ["seed", "-q"].map(str::to_owned).to_vec();
        let env = [("A".to_owned(), "{postgres}".to_owned())].into();
        assert_eq!((file, fill), (Some("schema.sql".into()), Some(Fill { command, env })));
    }

    #[test]
    fn a_server_of_grpc_has_a_health_service() {
        let manifest = parse(&SHOP.replace("/healthz", "grpc")).unwrap();
        assert_eq!(manifest.targets()[0].entry.ready, Ready::Grpc);
    }

    #[test]
    fn a_target_with_an_image_needs_no_command() {
        let text =
            "[target.shop]\nimage = \"localhost/shop\"\nport = 80\ncpus = 0.5\nmemory = \"1g\"";
        let manifest = parse(text).unwrap();
        let entry = &manifest.targets()[0].entry;
        assert_eq!((entry.image.as_deref(), entry.port), (Some("localhost/shop"), 80));
        assert_eq!(entry.limits().to_string(), "0.5 CPUs, 1 GiB");
        assert!(entry.command.is_empty() && entry.server == "localhost/shop");
    }

    #[test]
    fn faults_are_underlined() {
        for (old, new, message) in [
            ("ready =", "redy =", "unknown field `redy`"),
            ("--port={port}", "--port=8000", "neither the command nor env has {port}"),
            ("--port={port}", "--port={port}{socket}", "both {port} and {socket}"),
            ("ready =", "profile.command = []\nready =", "of `profile` is empty"),
            (
                "ready =",
                "profile = { command = [\"a\"], format = \"pprof\" }\nready =",
                "unknown variant `pprof`",
            ),
            ("ready =", "cpus = 1\nready =", "`cpus` is for containers"),
            ("ready =", "user = 9\nready =", "`user` is for containers"),
            ("ready =", "image = \"a\"\nuser = 0\nready =", "`user` is root"),
            ("command = [\"bin/granian\", \"--port\", \"{port}\"]", "", "the command is empty"),
            ("\"/healthz\"", "\"healthz\"", "must be a path"),
            ("target.fast", "target.redis", "cannot be called \"redis\""),
            ("target.fast", "target.\"a/b\"", "only letters"),
            ("\"{port}\"", "\"{port}\", \"{redis}\"", "see the password"),
            ("backend.postgres", "backend.mysql", "unknown field `mysql`"),
            ("init = \"schema.sql\"", "", "nothing fills it"),
            ("init = \"schema.sql\"", "fill = []", "is empty"),
            ("init = \"schema.sql\"", "fill = [\"a\", \"{postgres}\"]", "see the password"),
            ("init =", "env = { A = \"b\" }\ninit =", "only `fill` has variables"),
        ] {
            let fault = parse(&SHOP.replace(old, new)).unwrap_err();
            assert!(fault.message.contains(message), "{new}: {}", fault.message);
            assert!(fault.span.is_some(), "{new}");
        }
    }
}
