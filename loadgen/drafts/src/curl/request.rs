//! Reads the flags of a command into a request.

use loadgen_scenario::is_method;
use url::{Url, form_urlencoded};

use super::flags::Flags;
use crate::DraftError;
use crate::recorded::{self, Content, Request, Sent};
use crate::secrets::is_secret_cookie;

/// Most redirects that curl follows with `-L` and loadgen follows at all.
const REDIRECTS: i64 = 20;

/// A request, with what its command says beside it.
pub(super) struct Part {
    pub(super) request: Request,
    pub(super) auth: Option<(String, String)>,
    pub(super) cookie: Option<String>,
    pub(super) redirects: Option<i64>,
    pub(super) timeout: Option<String>,
    pub(super) socket: Option<String>,
    pub(super) proxy: Option<String>,
    pub(super) ca: Option<String>,
    pub(super) cert: Option<String>,
    pub(super) key: Option<String>,
    pub(super) key_password: Option<String>,
    pub(super) is_http2: bool,
    pub(super) is_insecure: bool,
    pub(super) keeps_cookies: bool,
    /// Comments above the step.
    pub(super) about: Vec<String>,
    pub(super) notes: Vec<String>,
}

impl Part {
    /// Returns the secrets that are no values of the request.
    pub(super) fn credentials(&self) -> impl Iterator<Item = (&str, &str)> {
        let password = self.auth.iter().map(|(_, password)| ("API_PASSWORD", password.as_str()));
        let cookies = self.cookie.iter().flat_map(|cookie| recorded::cookies(cookie));
        let cookies = cookies.filter(|(name, value)| is_secret_cookie(name, value));
        password.chain(cookies)
    }
}

/// Data flags, in whose order the body has their values.
const DATA: [&str; 6] = ["data", "data-ascii", "data-raw", "data-binary", "data-urlencode", "json"];

/// Reads a command: a request for each of its URLs.
pub(super) fn read(flags: &Flags) -> Result<Vec<Part>, DraftError> {
    let urls = flags.urls();
    if urls.is_empty() {
        return Err(DraftError::new(
            "a curl command has no URL",
            "copy the whole command, with its last line",
        ));
    }
    urls.into_iter().map(|url| read_one(flags, url)).collect()
}

fn read_one(flags: &Flags, url: &str) -> Result<Part, DraftError> {
    let mut url = parse(url)?;
    let mut notes = Vec::new();
    let mut headers = headers(flags);
    let data = data(flags, &mut notes);
    let mut content = match data {
        Data::None => Content::None,
        Data::Text(text) if flags.has("get") => {
            add_query(&mut url, &text);
            Content::None
        }
        Data::Text(text) => {
            let usual = match flags.last("json") {
                Some(_) => "application/json",
                None => "application/x-www-form-urlencoded",
            };
            add(&mut headers, "content-type", usual);
            Content::Text(text)
        }
        Data::File(_) if flags.has("get") => {
            return Err(DraftError::new(
                "a curl command sends a file as the query of its URL, with `-G`",
                "write the query into the URL",
            ));
        }
        Data::File(path) => {
            add(&mut headers, "content-type", "application/x-www-form-urlencoded");
            Content::File(path)
        }
    };
    for (_, query) in flags.all(&["url-query"]) {
        add_query(&mut url, &encoded(query));
    }
    let parts = parts(flags);
    if !parts.is_empty() {
        content = Content::Parts(parts);
    }
    let mut usual = if matches!(content, Content::None) { "GET" } else { "POST" };
    if flags.has("head") {
        usual = "HEAD";
    }
    if let Some(path) = flags.last("upload-file").filter(|path| !matches!(*path, "" | "-" | ".")) {
        usual = "PUT";
        notes.push(of_file(path));
        content = Content::File(path.to_owned());
    }
    let method = flags.last("request").unwrap_or(usual).to_owned();
    if !is_method(&method) {
        return Err(DraftError::new(
            "the method of a curl command cannot be sent",
            "write a method such as POST",
        ));
    }
    let auth = auth(flags, &mut url, &headers);
    let cookie = cookie(flags, &headers);
    let request = Request::read(Sent { method, url, headers, content });
    Ok(part(flags, request, auth, cookie, notes))
}

fn part(
    flags: &Flags,
    request: Request,
    auth: Option<(String, String)>,
    cookie: Option<String>,
    mut notes: Vec<String>,
) -> Part {
    let of = |name| flags.last(name).map(str::to_owned);
    let follows = flags.has("location") || flags.has("location-trusted");
    let most = flags.last("max-redirs").and_then(|most| most.parse::<i64>().ok());
    let most = most.filter(|most| (0..=REDIRECTS).contains(most)).unwrap_or(REDIRECTS);
    let proxy = flags.last("proxy").and_then(|proxy| without_user(proxy, &mut notes));
    let (cert, of_cert) =
        match flags.last("cert").map(|cert| cert.split_once(':').unwrap_or((cert, ""))) {
            Some((path, password)) => (Some(path.to_owned()), Some(password.to_owned())),
            None => (None, None),
        };
    for flag in ["resolve", "connect-to", "proxy-user"] {
        if flags.last(flag).is_some() {
            notes.push(format!("`--{flag}` is left out: the host of the URL is resolved as usual, and a proxy has no user."));
        }
    }
    let about =
        match flags.last("data-binary").or(flags.last("data")).filter(|text| text.starts_with('@'))
        {
            Some(_) => vec![
                "The file must stand beside this one, or its path here must be changed.".to_owned(),
            ],
            None => Vec::new(),
        };
    Part {
        auth,
        redirects: follows.then_some(most),
        timeout: timeout(flags),
        socket: of("unix-socket").map(|path| format!("unix:{path}")),
        proxy,
        ca: of("cacert"),
        // A file may have both.
        key: of("key").filter(|_| cert.is_some()).or_else(|| cert.clone()),
        key_password: of("pass").or(of_cert).filter(|word| cert.is_some() && !word.is_empty()),
        cert,
        is_http2: flags.has("http2-prior-knowledge")
            || flags.has("http2") && request.origin.starts_with("https:"),
        is_insecure: flags.has("insecure"),
        keeps_cookies: flags.last("cookie-jar").is_some()
            || flags.last("cookie").is_some_and(|cookie| !cookie.contains('=')),
        request,
        cookie,
        about,
        notes,
    }
}

fn timeout(flags: &Flags) -> Option<String> {
    let seconds = flags.last("max-time")?.parse::<f64>().ok()?;
    let milliseconds = (seconds * 1000.0).round();
    (milliseconds >= 1.0).then(|| format!("{}ms", milliseconds.min(600_000.0)))
}

fn parse(text: &str) -> Result<Url, DraftError> {
    let with_scheme = if text.contains("://") { text.to_owned() } else { format!("http://{text}") };
    let url = Url::parse(&with_scheme).ok();
    url.filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host()).ok_or_else(|| {
        DraftError::new(
            "a curl command has no URL that begins with http:// or https://",
            "quote the URL, if it has characters such as & and ?",
        )
    })
}

/// Adds a header, unless the command sets it.
fn add(headers: &mut Vec<(String, String)>, name: &str, value: &str) {
    if !headers.iter().any(|(key, _)| key.eq_ignore_ascii_case(name)) {
        headers.push((name.to_owned(), value.to_owned()));
    }
}

fn headers(flags: &Flags) -> Vec<(String, String)> {
    let mut headers: Vec<(String, String)> = Vec::new();
    for (_, header) in flags.all(&["header"]) {
        // `name;` is a header without a value, and `name:` leaves out one of curl's own.
        if let Some((name, value)) = header.split_once(':')
            && !value.trim().is_empty()
        {
            headers.push((name.trim().to_owned(), value.trim().to_owned()));
        }
    }
    for (flag, name) in [("user-agent", "user-agent"), ("referer", "referer")] {
        if let Some(value) = flags.last(flag) {
            add(&mut headers, name, value);
        }
    }
    if let Some(token) = flags.last("oauth2-bearer") {
        add(&mut headers, "authorization", &format!("Bearer {token}"));
    }
    if flags.last("json").is_some() {
        add(&mut headers, "accept", "application/json");
    }
    headers
}

/// Returns user and password of the command or of its URL. curl asks for a missing password.
fn auth(flags: &Flags, url: &mut Url, headers: &[(String, String)]) -> Option<(String, String)> {
    let of_url = (!url.username().is_empty()).then(|| {
        let decode = |text: &str| {
            percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned()
        };
        (decode(url.username()), decode(url.password().unwrap_or_default()))
    });
    // Both succeed, as the URL has a host.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    let of_flag = flags.last("user").map(|user| {
        let (user, password) = user.split_once(':').unwrap_or((user, ""));
        (user.to_owned(), password.to_owned())
    });
    let is_set = headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization"));
    of_flag.or(of_url).filter(|_| !is_set)
}

fn cookie(flags: &Flags, headers: &[(String, String)]) -> Option<String> {
    let of_flags = flags.all(&["cookie"]).into_iter().map(|(_, value)| value);
    let of_flags = of_flags.filter(|value| value.contains('='));
    let is_cookie = |(name, _): &&(String, String)| name.eq_ignore_ascii_case("cookie");
    let of_headers = headers.iter().filter(is_cookie).map(|(_, value)| value.as_str());
    let all: Vec<&str> = of_flags.chain(of_headers).collect();
    (!all.is_empty()).then(|| all.join("; "))
}

/// Data of a command.
enum Data {
    None,
    Text(String),
    File(String),
}

fn data(flags: &Flags, notes: &mut Vec<String>) -> Data {
    let given = flags.all(&DATA);
    let file = given.iter().find_map(|(flag, text)| {
        text.strip_prefix('@').filter(|_| *flag != "data-raw" && *flag != "data-urlencode")
    });
    if let Some("" | "-") = file {
        notes.push("The body that curl reads from its input is left out.".to_owned());
        return Data::Text(String::new());
    }
    if let Some(path) = file {
        notes.push(of_file(path));
        if given.len() > 1 {
            notes.push("Other data beside that of the file is left out.".to_owned());
        }
        return Data::File(path.to_owned());
    }
    if given.is_empty() {
        return Data::None;
    }
    let mut text = String::new();
    for (index, (flag, value)) in given.into_iter().enumerate() {
        // Values of `--json` are joined as they are.
        if index > 0 && flag != "json" {
            text.push('&');
        }
        match flag {
            "data-urlencode" => text.push_str(&encoded(value)),
            // curl removes line breaks only of files.
            _ => text.push_str(value),
        }
    }
    Data::Text(text)
}

/// Encodes a value of `--data-urlencode`: `content`, `=content`, or `name=content`.
fn encoded(value: &str) -> String {
    let encode = |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
    match value.split_once('=') {
        Some(("", content)) => encode(content),
        Some((name, content)) => format!("{name}={}", encode(content)),
        None => encode(value),
    }
}

fn add_query(url: &mut Url, text: &str) {
    let query = match url.query() {
        Some(query) if !query.is_empty() => format!("{query}&{text}"),
        _ => text.to_owned(),
    };
    url.set_query(Some(&query));
}

/// Returns the fields of `-F`.
fn parts(flags: &Flags) -> Vec<(String, String, recorded::Part)> {
    let fields = flags.all(&["form", "form-string"]).into_iter();
    fields
        .filter_map(|(flag, field)| {
            let (name, value) = field.split_once('=')?;
            Some(part_of(name, value, flag == "form-string"))
        })
        .collect()
}

fn part_of(name: &str, value: &str, is_text: bool) -> (String, String, recorded::Part) {
    let mut part = recorded::Part::default();
    if is_text {
        return (name.to_owned(), value.to_owned(), part);
    }
    let mut pieces = value.split(';');
    let content = pieces.next().unwrap_or_default();
    let mut content = content.to_owned();
    for piece in pieces {
        match piece.trim().split_once('=') {
            Some(("type", text)) => part.content_type = Some(text.trim().to_owned()),
            Some(("filename", text)) => part.filename = Some(text.trim_matches('"').to_owned()),
            _ => content = format!("{content};{piece}"),
        }
    }
    match content.strip_prefix(['@', '<']) {
        Some("" | "-") => part.filename = Some("file".to_owned()),
        Some(path) => part.file = Some(path.trim_matches('"').to_owned()),
        None if content.len() > 1 && content.starts_with('"') => {
            content = content.trim_matches('"').replace("\\\"", "\"");
        }
        None => {}
    }
    (name.to_owned(), content, part)
}

fn of_file(path: &str) -> String {
    format!("The body is the file {path}: its path is relative to the scenario file.")
}

/// Returns the URL of a proxy without its user, who would be written into the scenario.
/// A proxy that the scenario cannot name, such as one of SOCKS, is left out.
fn without_user(proxy: &str, notes: &mut Vec<String>) -> Option<String> {
    let with_scheme =
        if proxy.contains("://") { proxy.to_owned() } else { format!("http://{proxy}") };
    let url = Url::parse(&with_scheme).ok();
    let url = url.filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    // After a slash in a password, the `@` before the host is one of the path.
    let is_after_host = |url: &Url| url[url::Position::BeforePath..].contains('@');
    let Some(mut url) = url.filter(|url| !is_after_host(url)) else {
        notes.push(
            "The proxy is left out: write it as `proxy` of `[http]`, as http://HOST:PORT."
                .to_owned(),
        );
        return None;
    };
    if !url.username().is_empty() || url.password().is_some() {
        let _ = url.set_username("");
        let _ = url.set_password(None);
        notes.push("The user of the proxy is left out.".to_owned());
    }
    Some(url.origin().ascii_serialization())
}
