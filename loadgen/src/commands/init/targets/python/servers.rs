//! Commands that start a Python application, with a server that the project has.

use std::collections::BTreeMap;

use super::framework::Framework;
use super::module::Module;
use super::source::{App, Kind};
use crate::commands::init::targets::environment::Environment;

const HOST: &str = "--host={host}";
const PORT: &str = "--port={port}";
const BIND: &str = "--bind={host}:{port}";
const WORKERS: &str = "--workers={workers}";

/// A command, and what it needs.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Serving {
    pub(super) command: Vec<String>,
    pub(super) env: BTreeMap<String, String>,
    pub(super) note: Option<&'static str>,
}

/// An application, and the environment in which it is served.
pub(super) struct Server<'a> {
    pub(super) app: &'a App,
    pub(super) module: &'a Module,
    /// Path of the file, for applications that start themselves.
    pub(super) file: &'a str,
    pub(super) environment: &'a Environment,
}

impl Server<'_> {
    /// Returns the command that serves the application.
    pub(super) fn serving(&self) -> Serving {
        match self.app.framework {
            Framework::Quart => self.asgi(&["hypercorn", "uvicorn", "granian"]),
            Framework::FastApi
            | Framework::Starlette
            | Framework::Litestar
            | Framework::FalconAsgi
            | Framework::BlackSheep => self.asgi(&["uvicorn", "hypercorn", "granian"]),
            Framework::Flask => self.wsgi(&["gunicorn", "granian", "waitress-serve", "flask"]),
            Framework::Falcon => self.wsgi(&["gunicorn", "granian", "waitress-serve"]),
            Framework::Sanic => self.sanic(),
            Framework::Aiohttp => self.aiohttp(),
            Framework::Robyn => self.robyn(),
        }
    }

    fn asgi(&self, programs: &[&str]) -> Serving {
        let factory = self.is_factory().then_some("--factory");
        match self.environment.best(programs) {
            "hypercorn" => self.elsewhere(self.run("hypercorn", &[&self.called(), BIND, WORKERS])),
            "granian" => self.granian("asgi"),
            program => {
                let base = self.base().map(|base| format!("--app-dir={base}"));
                let app = self.named();
                let words = [Some(app.as_str()), factory, base.as_deref()].into_iter().flatten();
                let words: Vec<&str> = words.chain([HOST, PORT, WORKERS]).collect();
                self.run(program, &words)
            }
        }
    }

    fn wsgi(&self, programs: &[&str]) -> Serving {
        match self.environment.best(programs) {
            "granian" => self.granian("wsgi"),
            "waitress-serve" => {
                let call = self.is_factory().then_some("--call");
                let app = self.named();
                let words =
                    ["--listen={host}:{port}"].into_iter().chain(call).chain([app.as_str()]);
                self.elsewhere(self.run("waitress-serve", &words.collect::<Vec<_>>()))
            }
            "flask" => {
                let app = format!("--app={}", self.named());
                let serving = self.run("flask", &[&app, "run", HOST, PORT]);
                let note = Some(
                    "Flask's development server: a server for production, such as gunicorn, is not installed",
                );
                Serving { note, ..self.elsewhere(serving) }
            }
            program => {
                let base = self.base().map(|base| format!("--pythonpath={base}"));
                let app = self.called();
                let words =
                    [app.as_str()].into_iter().chain(base.as_deref()).chain([BIND, WORKERS]);
                self.run(program, &words.collect::<Vec<_>>())
            }
        }
    }

    fn granian(&self, interface: &str) -> Serving {
        let (interface, app) = (format!("--interface={interface}"), self.named());
        let factory = self.is_factory().then_some("--factory");
        let words = [interface.as_str(), app.as_str()].into_iter().chain(factory);
        let words: Vec<&str> = words.chain([HOST, PORT, WORKERS]).collect();
        self.elsewhere(self.run("granian", &words))
    }

    fn sanic(&self) -> Serving {
        let app = self.named();
        let factory = self.is_factory().then_some("--factory");
        let words = [app.as_str()].into_iter().chain(factory).chain([HOST, PORT, WORKERS]);
        self.elsewhere(self.run("sanic", &words.collect::<Vec<_>>()))
    }

    /// With gunicorn if the project has it, or else as aiohttp runs applications itself, in one process.
    fn aiohttp(&self) -> Serving {
        if self.environment.has("gunicorn") || self.environment.requires("gunicorn") {
            let app = match self.app.kind {
                Kind::Variable => self.named(),
                // The worker calls a function itself.
                Kind::Factory => format!("{}:{}", self.module.name, self.app.name),
            };
            let class = "--worker-class=aiohttp.GunicornWebWorker";
            let base = self.base().map(|base| format!("--pythonpath={base}"));
            let words = [app.as_str(), class].into_iter().chain(base.as_deref());
            return self.run("gunicorn", &words.chain([BIND, WORKERS]).collect::<Vec<_>>());
        }
        let (module, name) = (&self.module.name, &self.app.name);
        let call = if self.is_factory() { "()" } else { "" };
        let code = format!(
            "from aiohttp import web; from {module} import {name}; \
             web.run_app({name}{call}, host='{{host}}', port={{port}})"
        );
        let note = Some("one process: install gunicorn to use several");
        Serving { note, ..self.elsewhere(self.run("python", &["-c", &code])) }
    }

    /// Robyn's applications start themselves; its variables overrule what they choose.
    fn robyn(&self) -> Serving {
        let env = [("ROBYN_HOST", "{host}"), ("ROBYN_PORT", "{port}")];
        let env = env.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        Serving { env, ..self.run("python", &[self.file, "--processes={workers}"]) }
    }

    fn run(&self, program: &str, words: &[&str]) -> Serving {
        let words = words.iter().map(|word| (*word).to_owned());
        let command = [self.environment.word(program)].into_iter().chain(words).collect();
        Serving { command, ..Serving::default() }
    }

    /// Lets Python import from the module's folder, for a server without an option for that.
    fn elsewhere(&self, mut serving: Serving) -> Serving {
        let path = self.base().map(|base| ("PYTHONPATH".to_owned(), base.to_owned()));
        serving.env.extend(path);
        serving
    }

    fn base(&self) -> Option<&str> {
        Some(self.module.base.as_str()).filter(|base| !base.is_empty())
    }

    fn is_factory(&self) -> bool {
        self.app.kind == Kind::Factory
    }

    fn named(&self) -> String {
        format!("{}:{}", self.module.name, self.app.name)
    }

    /// Name with a call, for servers that recognize a factory by it.
    fn called(&self) -> String {
        format!("{}{}", self.named(), if self.is_factory() { "()" } else { "" })
    }
}
