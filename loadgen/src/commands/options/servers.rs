//! Parses the URLs of servers that run already.

use crate::experiment::subject::Server;
use crate::failure::{Exit, Failure};
use crate::scenario::ServerUrl;

/// Parses the values of `option`, each written as `URL` or
/// `NAME=URL`. A server or a name that is given twice is an error.
pub fn servers(option: &str, words: &[String]) -> Result<Vec<Server>, Failure> {
    let servers = words.iter().map(|word| server(option, word)).collect::<Result<Vec<_>, _>>()?;
    check_unlike(option, &servers)?;
    Ok(servers)
}

/// Returns an error if two of the servers have the same URL or the same name.
pub fn check_unlike(option: &str, servers: &[Server]) -> Result<(), Failure> {
    for (index, server) in servers.iter().enumerate() {
        let before = &servers[..index];
        if before.iter().any(|other| other.url == server.url) {
            let message = format!("{option}: {} is given twice", server.url);
            let help = "give each server once; --aa measures one server against itself";
            return Err(Failure::message(Exit::Usage, "named_twice", message, help));
        }
        if before.iter().any(|other| other.name == server.name) {
            let message = format!("{option}: two servers are called \"{}\"", server.name);
            let help = "give each server a different name";
            return Err(Failure::message(Exit::Usage, "named_twice", message, help));
        }
    }
    Ok(())
}

fn server(option: &str, word: &str) -> Result<Server, Failure> {
    let (name, url) = split_name(option, word)?;
    let url = base_url(option, url)?;
    Ok(Server { name: name.unwrap_or_else(|| url.clone()), url, deployed: None })
}

/// Splits `NAME=URL` or `URL` into the name, if any, and the URL.
pub fn split_name<'a>(option: &str, word: &'a str) -> Result<(Option<String>, &'a str), Failure> {
    // A word with one of these characters before the equals sign is a URL that contains the sign.
    let named = word.split_once('=').filter(|(name, _)| !name.contains([':', '/', '?', '#']));
    let Some((name, url)) = named else {
        // No URL begins so, and one may follow.
        let is_path = |(name, url): &(&str, &str)| {
            !name.starts_with('/') && !name.contains(':') && url.contains("://")
        };
        if let Some((name, _)) = word.split_once('=').filter(is_path) {
            let message = format!("{option} {word}: a name has no \"/\", \"?\" and \"#\": {name}");
            let help = "write a name and a URL, such as new=http://127.0.0.1:8000";
            return Err(Failure::message(Exit::Usage, "bad_url", message, help));
        }
        return Ok((None, word));
    };
    let name = name.trim();
    if name.is_empty() || name.chars().any(char::is_control) {
        let message = format!("{option} {word}: there is no name before the equals sign");
        let help = "write a name and a URL, such as new=http://127.0.0.1:8000";
        return Err(Failure::message(Exit::Usage, "bad_url", message, help));
    }
    Ok((Some(name.to_owned()), url.trim()))
}

/// Checks the URL of a server like [`server_url`], and returns it as text, without a slash at the end.
pub fn base_url(option: &str, url: &str) -> Result<String, Failure> {
    server_url(option, url).map(|server| server.to_string())
}

/// Parses the URL of a server. A URL with a user name, a password, a query or a fragment is an error, whose
/// message names `option`.
pub fn server_url(option: &str, url: &str) -> Result<ServerUrl, Failure> {
    let wrong = |what: &str| {
        let message = format!("{option} {url}: {what}");
        let help = "write a URL such as http://127.0.0.1:8000, or unix:/run/app.sock";
        Failure::message(Exit::Usage, "bad_url", message, help)
    };
    let server = ServerUrl::parse(url).map_err(|what| wrong(&what))?;
    let parsed = &server.url;
    if !matches!(parsed.scheme(), "http" | "https") || parsed.host_str().is_none() {
        return Err(wrong("not an http:// or https:// URL, nor unix:PATH"));
    }
    if !parsed.username().is_empty() || parsed.password().is_some() {
        return Err(with_user(option, parsed.clone()));
    }
    if parsed.query().is_some() || parsed.fragment().is_some() {
        let why = "has a query or a fragment, which belong in the steps of the scenario";
        if option != "--url" {
            return Err(wrong(why));
        }
        let help = format!("to load this URL itself, without a scenario: loadgen '{url}'");
        let message = format!("{option} {url}: {why}");
        return Err(Failure::message(Exit::Usage, "bad_url", message, &help));
    }
    Ok(server)
}

/// Returns the failure for a URL with a user name or a password, without showing them.
fn with_user(option: &str, mut url: reqwest::Url) -> Failure {
    let is_removed = url.set_username("").and_then(|()| url.set_password(None)).is_ok();
    let shown = if is_removed { url.as_str() } else { "of a server" };
    let message = format!(
        "{option} {shown}: contains a user name or a password, which would be saved with the result"
    );
    let help = match option {
        "URL" => {
            "send both in a header, which is not saved: \
             -H \"authorization: Basic $(printf %s 'USER:PASSWORD' | base64)\""
        }
        _ => {
            "write auth = { user = \"USER\", password = \"{{ env PASSWORD }}\" } in a step or in [http]"
        }
    };
    Failure::message(Exit::Usage, "bad_url", message, help)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_in_a_url_is_refused_and_not_shown() {
        for (option, remedy) in [("URL", "authorization: Basic"), ("--url", "auth = {")] {
            let refused = base_url(option, "http://anna:sesame@a:1/x").unwrap_err();
            let said = format!("{:?}", refused.report);
            assert!(said.contains("http://a:1/x") && said.contains(remedy), "{said}");
            assert!(!said.contains("sesame") && !said.contains("anna"), "{said}");
        }
    }

    #[test]
    fn a_server_has_its_given_name_or_its_url() {
        for (word, name, url) in [
            ("http://a:1/", "http://a:1", "http://a:1"),
            ("new=http://a:1/api/", "new", "http://a:1/api"),
            ("with uvloop = https://a", "with uvloop", "https://a"),
            ("unix:/run/a=b.sock", "unix:/run/a=b.sock", "unix:/run/a=b.sock"),
            ("s=http+unix://%2Frun%2Fa.sock/", "s", "unix:/run/a.sock"),
            ("http://a/x=http://b", "http://a/x=http://b", "http://a/x=http://b"),
        ] {
            let servers = servers("--url", &[word.to_owned()]).unwrap();
            let expected = Server { name: name.to_owned(), url: url.to_owned(), deployed: None };
            assert_eq!(servers, [expected]);
        }
    }
}
