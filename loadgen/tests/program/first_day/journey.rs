//! A journey with a login.

use std::fs;

use sha2::{Digest, Sha256};

use super::folder::Folder;
use super::urls::UVICORN;

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
    assert!(tried.stdout.contains("keeps the cookies csrftoken"), "{}", tried.stdout);
    let ran = folder.loadgen(&["--scenario=order.toml", "--url", &server.url]);
    assert_eq!(ran.code, Some(0), "{}", ran.said());
    assert!(!ran.stdout.contains("[errors]"), "{}", ran.stdout);
}

/// A shop in which four of five visitors look at products, and the fifth buys.
const SHOP: &str = r#"
[load]
users = 10
duration = "2s"

[rows.accounts]
file = "accounts.csv"

[rows.words]
file = "words.csv"
use = "random"

[[step]]
name = "login"
when = "start"
post = "/login"
body.form = { name = "{{ accounts.name }}", password = "{{ accounts.password }}" }
capture = { token = { json = "/token" } }

[[flow]]
name = "browse"
weight = 80

  [[flow.step]]
  name = "search"
  get = "/products"
  query = { q = "{{ words.word }}" }

  [[flow.step]]
  name = "product"
  get = "/products/{{ int 1 100 }}"
  expect.status = [200, 404]

[[flow]]
name = "buy"
weight = 20

  [[flow.step]]
  name = "photo"
  post = "/photos"
  headers = { authorization = "Bearer {{ token }}" }
  body.multipart = { title = "x", photo = { file = "photo.png" } }
  expect = { status = 201, json = { "/title" = "x", "/file" = "photo.png", "/sha256" = "SHA256" } }

  [[flow.step]]
  name = "order"
  post = "/orders"
  headers = { authorization = "Bearer {{ token }}" }
  body.json = { product = "{{ int 1 100 }}", quantity = "{{ int 1 5 }}" }
  expect = { status = 201, json_type = { "/order" = "number" } }

[thresholds]
"buy.p50" = "< 30s"
"iteration.error_rate" = "< 1%"
"#;

/// A journey with login, 80/20 flows, form, upload and CSV.
#[test]
fn a_journey_has_flows_and_an_upload() {
    let folder = Folder::with("starlette");
    // Bytes that are no text: a text encoding anywhere would change them.
    let photo: Vec<u8> = (0..=255).cycle().take(20_000).collect();
    fs::write(folder.path("photo.png"), &photo).unwrap();
    folder.write("accounts.csv", &accounts());
    folder.write("words.csv", "word\ntea\ncoffee\ncocoa\n");
    let digest = format!("{:x}", Sha256::digest(&photo));
    folder.write("shop.toml", &SHOP.replace("SHA256", &digest));
    let server = folder.serve(&UVICORN, &[]);
    let tried = folder.loadgen(&["check", "--try", &server.url, "shop.toml"]);
    assert_eq!(tried.code, Some(0), "{}{}", tried.stdout, tried.said());
    let ran = folder.loadgen(&["--scenario=shop.toml", "--url", &server.url, "--json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.said());
    let document = ran.json();
    let steps = document["targets"][0]["steps"].as_array().unwrap();
    let answered = |name: &str| {
        let step = steps.iter().find(|step| step["name"] == name).unwrap();
        assert_eq!(step["errors"], 0, "{step}");
        step["requests"].as_u64().unwrap()
    };
    let (browsed, bought) = (answered("search"), answered("photo"));
    let flows = document["targets"][0]["flows"].as_array().unwrap();
    let iterations: Vec<u64> =
        flows.iter().map(|flow| flow["iterations"].as_u64().unwrap()).collect();
    assert_eq!(
        flows.iter().map(|flow| flow["name"].as_str().unwrap()).collect::<Vec<_>>(),
        ["iteration", "browse", "buy"]
    );
    assert_eq!(iterations[0], iterations[1] + iterations[2], "{flows:?}");
    assert!(answered("order") > 0 && browsed > 2 * bought, "{browsed} browsed, {bought} bought");
}
