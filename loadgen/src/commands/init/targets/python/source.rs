//! Finds applications in the code of a Python file: at top level, or returned by a factory.

use std::sync::LazyLock;

use regex::Regex;

use super::blanked::blanked;
use super::framework::Framework;

/// An application in a Python file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct App {
    /// Name of the variable, or of the factory.
    pub(super) name: String,
    pub(super) framework: Framework,
    pub(super) kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Variable,
    /// Function that returns an application.
    Factory,
}

/// Code of a Python file, in which applications are found.
pub(super) struct Code(String);

/// Usual names of an application, best first.
const USUAL: [&str; 6] = ["app", "application", "api", "asgi", "wsgi", "server"];

/// Most factories of a file that are looked at: each look takes time in proportion to the file.
const MOST_FACTORIES: usize = 50;

/// Longest body of a factory that is searched, in bytes.
const LONGEST_BODY: usize = 20_000;

static ASSIGNMENT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let pattern = r"(?m)^(\w+)[ \t]*(?::[ \t]*([\w.]+)[^=\n]*)?=\s*(?:\w+[ \t]*=\s*)*(?:\(\s*)?(?:([\w.]+)[ \t]*\()?";
    Regex::new(pattern).ok()
});
static FUNCTION: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?m)^(async[ \t]+)?def[ \t]+(\w+)[ \t]*\(").ok());
static FACTORY_NAME: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let names = r"^(?:create|make|get|build|new|init|setup)_?\w*(?:app|application|api|server)$";
    Regex::new(&format!(r"{names}|^(?:app|application)_?factory$|^create$")).ok()
});
static RETURNED: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"^\s*->\s*([\w.]+)[^:\n]*:").ok());
static CALL: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"([\w.]+)[ \t]*\(").ok());

impl Code {
    pub(super) fn of(text: &str) -> Self {
        Self(blanked(text))
    }

    /// Returns the application that is assigned to a variable at top level: that with the most usual name, or else
    /// the first. `factories` are those of all files, by name: a variable may be the result of one.
    pub(super) fn variable(&self, factories: &[App]) -> Option<App> {
        let found = ASSIGNMENT.as_ref()?.captures_iter(&self.0).filter_map(|assigned| {
            let class = |group| assigned.get(group).map(|it| it.as_str());
            let of_class = |path| Framework::of_class(path, &self.0);
            let of_factory = |path: &str| {
                let name = path.rsplit('.').next()?;
                factories.iter().find(|factory| factory.name == name).map(|it| it.framework)
            };
            let framework = class(3).and_then(|path| of_class(path).or_else(|| of_factory(path)));
            // An annotation without a value declares no variable.
            let annotated = class(2).and_then(of_class);
            let framework = framework.or(annotated)?;
            Some(App { name: assigned[1].to_owned(), framework, kind: Kind::Variable })
        });
        let usual =
            |app: &App| USUAL.iter().position(|name| app.name == *name).unwrap_or(USUAL.len());
        found.min_by_key(usual)
    }

    /// Returns the functions that return an application and can be called without arguments.
    pub(super) fn factories(&self) -> Vec<App> {
        let Some(pattern) = FUNCTION.as_ref() else { return Vec::new() };
        let named = |name: &str| FACTORY_NAME.as_ref().is_some_and(|it| it.is_match(name));
        let all = pattern.captures_iter(&self.0).filter(|head| named(&head[2]));
        all.take(MOST_FACTORIES)
            .filter_map(|head| self.factory(&head[2], head.get(1).is_some(), head.get(0)?.end()))
            .collect()
    }

    /// Returns the factory of this name, whose parameters begin at `start`.
    fn factory(&self, name: &str, is_async: bool, start: usize) -> Option<App> {
        let end = start + closing(&self.0[start..])?;
        if !self.0[start..end].trim().is_empty() && requires_argument(&self.0[start..end]) {
            return None;
        }
        let after = &self.0[end + 1..];
        let annotated = RETURNED.as_ref()?.captures(after).and_then(|it| self.class(&it[1]));
        let framework = annotated.or_else(|| {
            let body = body(after);
            let mut calls = CALL.as_ref()?.captures_iter(body);
            body.contains("return").then(|| calls.find_map(|call| self.class(&call[1]))).flatten()
        })?;
        // Only aiohttp calls asynchronous factories. An application of Robyn starts itself.
        let is_usable =
            if is_async { framework == Framework::Aiohttp } else { framework != Framework::Robyn };
        is_usable.then(|| App { name: name.to_owned(), framework, kind: Kind::Factory })
    }

    fn class(&self, path: &str) -> Option<Framework> {
        Framework::of_class(path, &self.0)
    }

    /// Returns whether the code imports the name from elsewhere or by a path.
    pub(super) fn imports(&self, name: &str) -> bool {
        self.0.lines().any(|line| {
            let mut words = line.split(|c: char| !c.is_alphanumeric() && c != '_');
            (line.starts_with("from ") || line.starts_with("import "))
                && words.nth(1).is_some_and(|first| first == name)
        })
    }

    /// Returns whether the code starts a server.
    pub(super) fn serves(&self) -> bool {
        ["uvicorn.run(", "run_app(", "serve(", "app.run(", "hypercorn", "granian", "Granian("]
            .iter()
            .any(|call| self.0.contains(call))
    }
}

/// Returns the position of the bracket that closes one before the text.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 1;
    text.char_indices().find_map(|(at, c)| {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
        (depth == 0).then_some(at)
    })
}

/// Returns whether one of these parameters has no default.
fn requires_argument(parameters: &str) -> bool {
    let mut depth = 0;
    let outer = parameters.split(|c: char| {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
        c == ',' && depth == 0
    });
    let mut outer = outer.map(str::trim).filter(|parameter| !parameter.is_empty());
    outer.any(|parameter| {
        !parameter.starts_with('*') && parameter != "/" && !parameter.contains('=')
    })
}

/// Returns the lines after the head of a function, up to the next line at top level.
fn body(after: &str) -> &str {
    let mut end = after.find('\n').map_or(after.len(), |line| line + 1);
    for line in after[end..].split_inclusive('\n') {
        if !line.trim().is_empty() && !line.starts_with([' ', '\t', ')']) {
            break;
        }
        end += line.len();
    }
    let end = end.min(LONGEST_BODY);
    after.get(..end).unwrap_or(after)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variable(text: &str) -> Option<(String, &'static str)> {
        let code = Code::of(text);
        code.variable(&code.factories()).map(|app| (app.name, app.framework.title()))
    }

    #[test]
    fn a_file_with_many_factories_takes_little_time() {
        let code = Code::of(&"def make_app(\n".repeat(70_000));
        let begun = std::time::Instant::now();
        assert_eq!(code.factories(), []);
        assert!(begun.elapsed().as_secs() < 60);
    }

    #[test]
    fn applications_are_found_at_top_level() {
        for (text, name, title) in [
            ("app = Litestar([index])\n", "app", "Litestar"),
            (
                "from x import FastAPI\nlong = 1\napi: FastAPI = FastAPI(\n  title='a',\n)",
                "api",
                "FastAPI",
            ),
            ("app = (\n    fastapi.FastAPI()\n)", "app", "FastAPI"),
            ("sub = FastAPI()\napp = FastAPI()", "app", "FastAPI"),
            ("from aiohttp import web\napp = web.Application()", "app", "aiohttp"),
            ("from blacksheep import Application, get\napp = Application()", "app", "BlackSheep"),
            ("import falcon.asgi\napp = falcon.asgi.App()", "app", "Falcon"),
            ("from falcon import App\napplication = App()", "application", "Falcon"),
            ("app = Robyn(__file__)", "app", "Robyn"),
            ("import falcon\napp = wsgi = falcon.App()", "app", "Falcon"),
            ("def create_app():\n    return Flask(__name__)\napp = create_app()", "app", "Flask"),
            ("app: Starlette = built(1)", "app", "Starlette"),
        ] {
            assert_eq!(variable(text), Some((name.to_owned(), title)), "{text}");
        }
        for text in [
            "'''\napp = FastAPI()\n'''",
            "# app = FastAPI()",
            "def f():\n    app = FastAPI()",
            "app = Application()",
            "app = web.Application()",
            "app = App()",
            "app: FastAPI",
        ] {
            assert_eq!(variable(text), None, "{text}");
        }
    }

    #[test]
    fn factories_need_no_argument() {
        for (text, found) in [
            (
                "def create_app(config=None):\n    app = Flask('x')\n\n    return app\n",
                Some("create_app"),
            ),
            (
                "def make_app(\n    a: dict[str, int] = {},\n    *,\n    b=1,\n) -> FastAPI:\n    return x()",
                Some("make_app"),
            ),
            ("def get_app() -> 'FastAPI':\n    return FastAPI()", Some("get_app")),
            ("def create_app(config):\n    return Flask('x')", None),
            ("def create_app():\n    pass\napp = Flask('x')", None),
            ("async def create_app():\n    return FastAPI()", None),
            ("def helper():\n    return FastAPI()", None),
        ] {
            let factories = Code::of(text).factories();
            let names: Vec<&str> = factories.iter().map(|app| app.name.as_str()).collect();
            assert_eq!(names, found.into_iter().collect::<Vec<_>>(), "{text}");
        }
        let code = Code::of(
            "from aiohttp import web\nasync def make_app():\n    return web.Application()",
        );
        assert_eq!(code.factories().len(), 1);
    }
}
