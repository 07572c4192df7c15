use std::fs;

use super::*;

fn folder(files: &[(&str, &str)]) -> (tempfile::TempDir, Folder) {
    let place = tempfile::tempdir().unwrap();
    for (name, text) in files {
        fs::write(place.path().join(name), text).unwrap();
    }
    let folder = Folder::read(place.path());
    (place, folder)
}

#[test]
fn commands_are_found_where_projects_state_them() {
    for (files, place, command) in [
        (
            &[(
                "Procfile",
                "release: python manage.py migrate\nweb: gunicorn shop.wsgi --log-file -\n",
            )][..],
            "Procfile",
            "gunicorn shop.wsgi --log-file - --bind={host}:{port} --workers={workers}",
        ),
        (
            &[("Procfile", "web: cd src && uvicorn app:app --port=$PORT\n")],
            "Procfile",
            "sh -c cd 'src' && exec uvicorn app:app --port={port} --host={host} --workers={workers}",
        ),
        (
            &[(
                "Dockerfile",
                "FROM a\nWORKDIR /srv\nCMD [\"/srv/.venv/bin/uvicorn\", \"a:b\", \"--host\", \"0.0.0.0\"]",
            )],
            "Dockerfile",
            "uvicorn a:b --host {host} --port={port} --workers={workers}",
        ),
        (
            &[(
                "Dockerfile",
                "ENTRYPOINT [\"tini\", \"--\"]\nCMD [\"python\", \"app.py\"]\nENV PORT=80",
            )],
            "Dockerfile",
            "python app.py",
        ),
        (
            &[(
                "Dockerfile",
                "CMD [\"sh\", \"-c\", \"alembic upgrade head && exec hypercorn a:b -b 0.0.0.0:80\"]",
            )],
            "Dockerfile",
            "hypercorn a:b -b {host}:{port} --workers={workers}",
        ),
        (
            &[
                ("Dockerfile", "ENTRYPOINT [\"/app/start.sh\"]"),
                ("start.sh", "#!/bin/sh\nset -e\nexec granian a:b \\\n  --port 80\n"),
            ],
            "Dockerfile",
            "granian a:b --port {port} --host={host} --workers={workers}",
        ),
        (
            &[(
                "compose.yaml",
                "services:\n  db: {image: a, command: b}\n  web:\n    build: {context: .}\n    command: flask run --host 0.0.0.0\n",
            )],
            "compose.yaml, service web",
            "flask run --host {host} --port={port}",
        ),
    ] {
        let (_place, folder) = folder(files);
        let environment = Environment::default();
        let found = find(&folder, &environment);
        assert_eq!(found.len(), 1, "{files:?}");
        assert_eq!(
            (found[0].place.as_str(), found[0].command.join(" ").as_str()),
            (place, command)
        );
    }
}

#[test]
fn the_served_module_is_known() {
    for (command, module) in [
        ("gunicorn -k uvicorn.workers.UvicornWorker shop.wsgi", "shop.wsgi"),
        ("uvicorn --host {host} a.b:app", "a.b"),
        ("flask --app=shop:create_app run", "shop"),
        ("python src/app.py", "src.app"),
        ("fastapi run app/main.py", "app.main"),
    ] {
        let words: Vec<String> = command.split(' ').map(str::to_owned).collect();
        assert_eq!(app(&words[0], &words).as_deref(), Some(module), "{command}");
    }
}

#[test]
fn a_command_with_words_of_loadgen_is_left_out() {
    let (_place, folder) = folder(&[("Procfile", "web: serve --template {redis}")]);
    assert_eq!(find(&folder, &Environment::default()), []);
}
