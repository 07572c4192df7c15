use std::fs;

use super::*;
use crate::lab::{Home, Manifest};

/// Writes a folder with these files and, with empty content, these programs of its environment.
fn project(files: &[(&str, &str)], programs: &[&str]) -> (tempfile::TempDir, Folder, Environment) {
    let place = tempfile::tempdir().unwrap();
    let programs = programs.iter().map(|program| (format!(".programs/{program}"), ""));
    for (name, text) in files.iter().map(|(name, text)| ((*name).to_owned(), *text)).chain(programs)
    {
        let path = place.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let folder = Folder::read(place.path());
    let environment = Environment::of_programs(&folder, place.path().join(".programs"));
    (place, folder, environment)
}

/// Returns what is found in a folder, each as `name: about: command`, and the text of the file.
fn written(files: &[(&str, &str)], programs: &[&str]) -> (Vec<String>, String) {
    let (place, folder, environment) = project(files, programs);
    let found = find(&folder, &environment);
    let servers: Vec<Server> =
        found.into_iter().map(|(found, _)| Server { found, outcome: Outcome::Untried }).collect();
    let line = |Server { found, .. }: &Server| {
        format!("{}: {}: {}", found.name, found.about(), found.command.join(" "))
    };
    let text = file::text(&servers);
    // The file is one that loadgen reads, with these targets.
    let names: Vec<String> = servers.iter().map(|server| server.found.name.clone()).collect();
    if !names.is_empty() {
        fs::write(place.path().join(FILE), &text).unwrap();
        let home = Home::at(place.path().to_owned()).unwrap();
        let manifest = Manifest::of(&home).unwrap_or_else(|error| panic!("{error}: {text}"));
        assert_eq!(manifest.names(), names);
    }
    (servers.iter().map(line).collect(), text)
}

const ADDRESS: &str = "--host={host} --port={port} --workers={workers}";
const BIND: &str = "--bind={host}:{port} --workers={workers}";

#[test]
fn applications_of_each_framework_are_found() {
    let fastapi = "from fastapi import FastAPI\n";
    let factory =
        "from flask import Flask\ndef create_app():\n    app = Flask('a')\n    return app\n";
    let web = "from aiohttp import web\napp = web.Application()\n";
    for (files, expected) in [
        (
            &[("app.py", "app = Litestar([index])\n")][..],
            format!("litestar: Litestar, in app.py: uvicorn app:app {ADDRESS}"),
        ),
        (
            &[("shop/main.py", &*format!("{fastapi}api: FastAPI = FastAPI()\n"))],
            format!("fastapi: FastAPI, in shop/main.py: uvicorn shop.main:api {ADDRESS}"),
        ),
        (
            &[
                ("src/shop/api/main.py", "app = FastAPI(\n    title='x',\n)"),
                ("src/shop/__init__.py", ""),
            ],
            format!(
                "fastapi: FastAPI, in src/shop/api/main.py: uvicorn shop.api.main:app --app-dir=src {ADDRESS}"
            ),
        ),
        (
            &[
                ("backend/app/main.py", "from app.db import x\napp = FastAPI()"),
                ("backend/app/db.py", ""),
            ],
            format!(
                "fastapi: FastAPI, in backend/app/main.py: uvicorn app.main:app --app-dir=backend {ADDRESS}"
            ),
        ),
        (
            &[("app.py", "app = flask.Flask(__name__)\n")],
            format!("flask: Flask, in app.py: gunicorn app:app {BIND}"),
        ),
        (
            &[("shop/__init__.py", factory)],
            format!("flask: Flask, in shop/__init__.py: gunicorn shop:create_app() {BIND}"),
        ),
        (
            &[
                ("shop/__init__.py", factory),
                ("wsgi.py", "from shop import create_app\napp = create_app()\n"),
            ],
            format!("flask: Flask, in wsgi.py: gunicorn wsgi:app {BIND}"),
        ),
        (
            &[("a.py", "app = Quart('a')\n")],
            format!("quart: Quart, in a.py: hypercorn a:app {BIND}"),
        ),
        (
            &[("a.py", "app = Sanic('a')\n")],
            format!("sanic: Sanic, in a.py: sanic a:app {ADDRESS}"),
        ),
        (
            &[("a.py", "import falcon\napp = falcon.App()\n")],
            format!("falcon: Falcon, in a.py: gunicorn a:app {BIND}"),
        ),
        (
            &[("a.py", "import falcon.asgi\napp = falcon.asgi.App()\n")],
            format!("falcon: Falcon, in a.py: uvicorn a:app {ADDRESS}"),
        ),
        (
            &[("a.py", web)],
            "aiohttp: aiohttp, in a.py: python -c from aiohttp import web; from a import app; \
             web.run_app(app, host='{host}', port={port})"
                .to_owned(),
        ),
        (
            &[("a.py", web), ("requirements.txt", "aiohttp\ngunicorn==23\n")],
            format!(
                "aiohttp: aiohttp, in a.py: gunicorn a:app --worker-class=aiohttp.GunicornWebWorker {BIND}"
            ),
        ),
        (
            &[("a.py", "from blacksheep import Application\napp = Application()")],
            format!("blacksheep: BlackSheep, in a.py: uvicorn a:app {ADDRESS}"),
        ),
        (
            &[("a.py", "app = Robyn(__file__)")],
            "robyn: Robyn, in a.py: python a.py --processes={workers}".to_owned(),
        ),
    ] {
        assert_eq!(written(files, &[]).0, [expected]);
    }
}

#[test]
fn the_server_is_one_that_the_project_has() {
    let app = ("a.py", "app = FastAPI()\n");
    let flask = ("a.py", "app = Flask('a')\n");
    for (file, packages, programs, begins) in [
        (app, "hypercorn>=1", &[][..], "hypercorn a:app --bind"),
        (app, "hypercorn", &["granian"], "granian --interface=asgi a:app"),
        (app, "", &["uvicorn", "granian"], "uvicorn a:app"),
        (flask, "", &["waitress-serve", "flask"], "waitress-serve --listen"),
        (flask, "waitress", &[], "waitress-serve --listen"),
        (flask, "", &["flask"], "flask --app=a:app run"),
    ] {
        let (found, _) = written(
            &[file, ("requirements/base.txt", ""), ("requirements.txt", packages)],
            programs,
        );
        let command = found[0].splitn(3, ": ").nth(2).unwrap();
        assert!(command.starts_with(begins), "{command}");
    }
}

#[test]
fn an_environment_that_is_not_active_is_named() {
    for venv in ["venv", "backend/.venv"] {
        let (config, program) = (format!("{venv}/pyvenv.cfg"), format!("{venv}/bin/uvicorn"));
        let files =
            [("backend/a.py", "app = FastAPI()"), (config.as_str(), ""), (program.as_str(), "")];
        let (_place, folder, _) = project(&files, &[]);
        let environment = Environment::found(&folder, None);
        assert!(environment.has("uvicorn"));
        assert_eq!(environment.word("uvicorn"), program);
    }
}

#[test]
fn projects_of_django_are_found() {
    let manage =
        |settings: &str| format!("os.environ.setdefault('DJANGO_SETTINGS_MODULE', '{settings}')");
    let wsgi = "application = get_wsgi_application()";
    let nested = manage("config.settings.production");
    for (files, expected) in [
        (
            &[("manage.py", &*manage("site.settings"))][..],
            format!("site: Django, in manage.py: gunicorn site.wsgi {BIND}"),
        ),
        (
            &[("manage.py", nested.as_str()), ("config/wsgi.py", wsgi), ("other/wsgi.py", wsgi)],
            format!("django: Django, in manage.py: gunicorn config.wsgi {BIND}"),
        ),
        (
            &[("src/manage.py", &*manage("shop.settings")), ("src/shop/deploy/wsgi.py", wsgi)],
            format!(
                "shop: Django, in src/manage.py: gunicorn shop.deploy.wsgi --pythonpath=src {BIND}"
            ),
        ),
    ] {
        assert_eq!(written(files, &[]).0, [expected]);
    }
    let files = [("manage.py", &*manage("shop.settings"))];
    let (found, _) = written(&files, &["django-admin", "python"]);
    assert!(found[0].ends_with("python manage.py runserver --noreload {host}:{port}"), "{found:?}");
    let (found, _) = written(&files, &["uvicorn"]);
    assert!(found[0].contains("uvicorn shop.asgi:application"), "{found:?}");
}

#[test]
fn packages_of_node_are_found() {
    for (files, expected) in [
        (
            &[("package.json", r#"{"main": "server.js", "dependencies": {"express": "^5"}}"#)][..],
            "express: Express, in package.json: node server.js",
        ),
        (
            &[(
                "package.json",
                r#"{"scripts": {"start": "NODE_ENV=production node app.js"}, "dependencies": {"koa": "1"}}"#,
            )],
            "koa: Koa, in package.json, script start: node app.js",
        ),
        (
            &[
                (
                    "package.json",
                    r#"{"scripts": {"start": "fastify start -p 3000 app.js"}, "dependencies": {"fastify": "5"}}"#,
                ),
                ("node_modules/.bin/fastify", ""),
            ],
            "fastify: Fastify, in package.json, script start: node_modules/.bin/fastify start -p {port} app.js",
        ),
        (
            &[
                (
                    "package.json",
                    r#"{"scripts": {"start": "nest start", "build": "nest build"}, "dependencies": {"@nestjs/core": "11"}}"#,
                ),
                ("yarn.lock", ""),
            ],
            "nest: Nest, in package.json, script start: yarn run start",
        ),
        (
            &[
                ("package.json", r#"{"dependencies": {"hono": "4", "@hono/node-server": "1"}}"#),
                ("src/index.js", ""),
            ],
            "hono: Hono, in package.json: node src/index.js",
        ),
        (
            &[("go.mod", "module shop\n"), ("cmd/shop/main.go", "// Shop.\npackage main // x\n")],
            "shop: Go, in cmd/shop: .loadgen/bin/shop",
        ),
        (
            &[("go.mod", "module shop\n"), ("server.go", "package main\n")],
            "go: Go, in go.mod: .loadgen/bin/go",
        ),
    ] {
        let (found, text) = written(files, &[]);
        assert_eq!(found, [expected]);
        assert!(expected.contains("{port}") || text.contains(r#"PORT = "{port}""#), "{text}");
    }
    let library = [("go.mod", "module shop\n"), ("shop.go", "package shop\n")];
    assert!(written(&library, &[]).0.is_empty());
    let vite = r#"{"scripts": {"start": "vite --port 3000"}}"#;
    assert!(written(&[("package.json", vite)], &[]).0.is_empty());
    let both = r#"{"scripts": {"start": "nest start", "start:prod": "node dist/main"}}"#;
    let (found, _) = written(&[("package.json", both)], &[]);
    assert_eq!(found, ["node: Node, in package.json, script start:prod: node dist/main"]);
    let nest = r#"{"scripts": {"build": "nest build"}, "dependencies": {"@nestjs/core": "11"}}"#;
    let (_, text) = written(&[("package.json", nest)], &[]);
    assert!(text.contains("command = [\"node\", \"dist/main.js\"]\nenv = { PORT = \"{port}\" }\nbuild = [\"npm\", \"run\", \"build\"]"), "{text}");
}

#[test]
fn a_stated_command_comes_before_one_that_follows_from_the_code() {
    let app = ("shop/main.py", "app = FastAPI()\n");
    let stated = "fastapi: FastAPI, in Procfile: uvicorn shop.main:app --port {port} --host={host} --workers={workers}";
    let procfile = ("Procfile", "web: uvicorn shop.main:app --port $PORT\n");
    let docker = ("Dockerfile", "CMD [\"uvicorn\", \"shop.main:app\", \"--port\", \"80\"]");
    assert_eq!(written(&[app, procfile, docker], &[]).0, [stated]);
    let (_place, folder, environment) = project(&[app, procfile], &[]);
    let (_, other) = &find(&folder, &environment)[0];
    assert_eq!(other.as_ref().unwrap().place, "shop/main.py");
    for (start, title) in
        [("python manage.py runserver 0:$PORT", "Django"), ("celery -A shop worker", "")]
    {
        let manage = ("manage.py", "setdefault('DJANGO_SETTINGS_MODULE', 'shop.settings')");
        let (found, _) = written(&[manage, ("Procfile", &format!("web: {start}\n"))], &[]);
        let place = if title.is_empty() { "manage.py" } else { "Procfile" };
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with(&format!("shop: Django, in {place}: ")), "{found:?}");
    }
    // Another application stays.
    let other = ("admin/main.py", "app = FastAPI()\n");
    assert_eq!(written(&[app, other, procfile], &[]).0.len(), 2);
    // A script of package.json, called by another file.
    let package = ("package.json", r#"{"scripts": {"start": "node a.js"}}"#);
    let (found, _) = written(&[package, ("Dockerfile", "CMD [\"npm\", \"start\"]")], &[]);
    assert_eq!(found, ["node: Node, in package.json, script start: node a.js"]);
}

#[test]
fn settings_of_the_project_name_its_application() {
    let a = ("a.py", "app = Flask('a')\n");
    let b = ("b.py", "app = Flask('b')\n");
    let (found, _) = written(&[a, b, (".flaskenv", "FLASK_APP=b.py\n")], &[]);
    assert!(found[0].starts_with("flask: Flask, in b.py, which .flaskenv names"), "{found:?}");
    let pyproject = ("pyproject.toml", "[tool.fastapi]\nentrypoint = \"b:app\"\n");
    let (found, _) = written(&[a, b, pyproject], &[]);
    assert!(found[0].starts_with("flask: Flask, in b.py, which pyproject.toml names"), "{found:?}");
    let scripts = (
        "pyproject.toml",
        "[project.scripts]\nshop = \"shop.cli:main\"\nother = \"shop.x:main\"\n",
    );
    let cli = ("src/shop/cli.py", "def main():\n    uvicorn.run(x)\n");
    assert_eq!(
        written(&[scripts, cli], &[]).0,
        ["shop: the program shop, in pyproject.toml: shop"]
    );
}

#[test]
fn names_are_unique_and_valid() {
    let app = "app = Sanic('a')\n";
    let (found, text) =
        written(&[("a.py", app), ("b.py", app), (".venv/c.py", app), ("tests/d.py", app)], &[]);
    assert_eq!(found.len(), 2);
    assert!(text.contains("[target.sanic]") && text.contains("[target.sanic-2]"), "{text}");
    assert!(written(&[], &[]).1.contains("[target.my-server]"));
    let (found, _) = written(&[("Procfile", "web: ./bin/postgres.x 'a \"b\" {c}' $PORT\n")], &[]);
    assert_eq!(found, ["postgres-x: postgres.x, in Procfile: ./bin/postgres.x a \"b\" {c} {port}"]);
    let (found, _) = written(&[("Procfile", "web: redis $X '{\"a\": \"ä\\\\\"}' > log\n")], &[]);
    assert_eq!(found.len(), 1);
    assert!(found[0].starts_with("my-redis: redis, in Procfile: sh -c exec redis $X"), "{found:?}");
}

#[test]
fn names_of_variables_are_keys_of_one_table() {
    let docker = "ENV A.PORT=80 PORT=80\nEXPOSE 80\nCMD [\"node\", \"a.js\"]\n";
    let (_, text) = written(&[("Dockerfile", docker)], &[]);
    assert!(text.contains(r#""A.PORT" = "{port}", PORT = "{port}""#), "{text}");
}

#[test]
fn the_file_says_what_became_of_the_trial() {
    let found = Found {
        name: "a".to_owned(),
        title: "A".to_owned(),
        place: "b".to_owned(),
        ..Found::default()
    };
    let server = |outcome| Server { found: found.clone(), outcome };
    let failed = outcome::Failed {
        kind: "no\nway".to_owned(),
        detail: "no way: postgres://app:hunter2@db".to_owned(),
    };
    let all = [Outcome::Answered(404), Outcome::Failed(failed), Outcome::Untried].map(server);
    let text = file::text(&all);
    for line in
        ["# started, and answered GET / with 404", "# a guess: no way", "# a guess: not tried"]
    {
        assert!(text.lines().any(|it| it == line), "{text}");
    }
    assert!(!text.contains("hunter2"), "{text}");
    assert_eq!(
        listed(&all),
        "found\n  a  A, in b  started, GET / answered 404\n  a  A, in b  a guess: no way: postgres://app:hunter2@db\n  a  A, in b  a guess: not tried\n"
    );
}
