//! Python frameworks, and how their applications look in code.

/// A framework whose applications are found in Python files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Framework {
    FastApi,
    Starlette,
    Litestar,
    Quart,
    Sanic,
    Flask,
    Falcon,
    FalconAsgi,
    Aiohttp,
    BlackSheep,
    Robyn,
}

impl Framework {
    /// Name in its usual spelling.
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::FastApi => "FastAPI",
            Self::Starlette => "Starlette",
            Self::Litestar => "Litestar",
            Self::Quart => "Quart",
            Self::Sanic => "Sanic",
            Self::Flask => "Flask",
            Self::Falcon | Self::FalconAsgi => "Falcon",
            Self::Aiohttp => "aiohttp",
            Self::BlackSheep => "BlackSheep",
            Self::Robyn => "Robyn",
        }
    }

    /// Returns the framework of the class `path`, such as `web.Application`, in a file with this code.
    pub(super) fn of_class(path: &str, code: &str) -> Option<Self> {
        let (module, class) = path.rsplit_once('.').unwrap_or(("", path));
        let imports = |from: &str| {
            let beginning = format!("from {from} import");
            code.lines().any(|line| line.trim_start().starts_with(&beginning))
        };
        match class {
            "FastAPI" => Some(Self::FastApi),
            "Starlette" => Some(Self::Starlette),
            "Litestar" => Some(Self::Litestar),
            "Quart" => Some(Self::Quart),
            "Sanic" => Some(Self::Sanic),
            "Flask" | "APIFlask" => Some(Self::Flask),
            "Robyn" => Some(Self::Robyn),
            "Application" if module.is_empty() && imports("aiohttp.web") => Some(Self::Aiohttp),
            "Application"
                if ["web", "aiohttp.web"].contains(&module) && code.contains("aiohttp") =>
            {
                Some(Self::Aiohttp)
            }
            "Application" if module == "blacksheep" => Some(Self::BlackSheep),
            "Application" if module.is_empty() && code.contains("blacksheep") => {
                Some(Self::BlackSheep)
            }
            "App" if module == "falcon.asgi" => Some(Self::FalconAsgi),
            "App" if module == "asgi" && imports("falcon") => Some(Self::FalconAsgi),
            "App" if module.is_empty() && imports("falcon.asgi") => Some(Self::FalconAsgi),
            "App" | "API" if module == "falcon" => Some(Self::Falcon),
            "App" | "API" if module.is_empty() && imports("falcon") => Some(Self::Falcon),
            _ => None,
        }
    }
}
