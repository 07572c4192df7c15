//! A journey with a login.

use super::folder::Folder;

/// Django's login: a form with a CSRF token, which answers with a redirect and a session cookie.
const DJANGO: &str = r#"
[load]
users = 5
duration = "1s"

[http]
cookies = true

[rows.accounts]
file = "accounts.csv"

[[step]]
name = "form"
when = "start"
get = "/login/"
capture = { csrf = { regex = 'csrfmiddlewaretoken" value="(\w+)"' } }

[[step]]
name = "login"
when = "start"
post = "/login/"
body.form = { name = "{{ accounts.name }}", password = "{{ accounts.password }}", csrfmiddlewaretoken = "{{ csrf }}" }
expect.status = 302

[[step]]
name = "order"
post = "/orders/"
body.form = { quantity = "{{ int 1 5 }}", csrfmiddlewaretoken = "{{ csrf }}" }
expect = { status = 201, json_type = { "/order" = "number" } }
"#;

/// Returns a file of accounts that the applications know.
fn accounts() -> String {
    let lines: Vec<String> =
        (0..20).map(|number| format!("user-{number},secret-of-user-{number}\n")).collect();
    format!("name,password\n{}", lines.concat())
}

#[test]
fn users_log_in_to_django_with_its_csrf_token_and_session() {
    let folder = Folder::with("django");
    folder.write("accounts.csv", &accounts());
    folder.write("order.toml", DJANGO);
    let words = ["gunicorn", "shop.wsgi", "--bind=127.0.0.1:PORT", "--log-level=warning"];
    let server = folder.serve(&words, &[]);
    let tried = folder.loadgen(&["check", "--try", &server.url, "order.toml"]);
    assert_eq!(tried.code, Some(0), "{}{}", tried.stdout, tried.said());
    assert!(tried.stdout.contains("captured csrf"), "{}", tried.stdout);
    let ran = folder.loadgen(&["--scenario=order.toml", "--url", &server.url]);
    assert_eq!(ran.code, Some(0), "{}", ran.said());
    assert!(!ran.stdout.contains("[errors]"), "{}", ran.stdout);
}
