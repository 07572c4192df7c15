use proptest::prelude::*;

use super::*;
use crate::testing::checked;

fn text(command: &str) -> String {
    checked(&draft(command).unwrap_or_else(|error| panic!("{error}: {}", error.help)))
}

#[test]
fn chrome() {
    insta::assert_snapshot!(text(
        r#"curl 'https://shop.example/api/orders?page=2&tag=new&tag=a%20b' \
  -H 'accept: application/json' \
  -H 'accept-language: en-US,en;q=0.9' \
  -H 'authorization: Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln' \
  -H 'content-type: application/json' \
  -b 'sessionid=6ff5b7d1b8f64d1f; theme=dark' \
  -H 'origin: https://shop.example' \
  -H 'priority: u=1, i' \
  -H 'referer: https://shop.example/orders?key=private' \
  -H 'sec-ch-ua: "Chromium";v="140"' \
  -H 'sec-fetch-mode: cors' \
  -H 'user-agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36' \
  -H 'x-requested-with: XMLHttpRequest' \
  --data-raw $'{"note":"It\'s {{ fine }}\u0021","quantity":2,"user":"ada","password":"enigma-1"}' ;
curl 'https://shop.example/api/orders/17' -X 'DELETE' -H 'x-csrftoken: 12345678' --compressed ;
curl 'https://cdn.example/logo.png'"#
    ));
}

#[test]
fn firefox() {
    insta::assert_snapshot!(text(
        r#"curl 'http://127.0.0.1:8000/login/?next=/orders/' \
  --compressed \
  -X POST \
  -H 'User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0' \
  -H 'Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' \
  -H 'Accept-Encoding: gzip, deflate, br, zstd' \
  -H 'Content-Type: application/x-www-form-urlencoded' \
  -H 'Origin: http://127.0.0.1:8000' \
  -H 'Connection: keep-alive' \
  -H 'Referer: http://127.0.0.1:8000/login/?next=/orders/' \
  -H 'Cookie: csrftoken=QfBz5Lk0UxLkzJ0cVQ2m' \
  -H 'Upgrade-Insecure-Requests: 1' \
  -H 'Sec-Fetch-Dest: document' \
  --data-raw 'csrfmiddlewaretoken=Wq81JfDk20&username=ada&password=enigma-1&remember=on'"#
    ));
}

#[test]
fn postman() {
    insta::assert_snapshot!(text(
        "curl --location --request POST 'https://api.example/photos?api_key=k3y-9171' \\\n\
         --header 'X-Tenant: a' \\\n\
         --form 'photo=@\"Cargo.toml\"' \\\n\
         --form 'title=\"a \\\"red\\\" tea; hot\"' \\\n\
         --form 'meta={\"a\":1};type=application/json'"
    ));
}

#[test]
fn options_of_connections() {
    insta::assert_snapshot!(text(
        "curl -k --http2 -x ada:enigma-1@proxy:3128 -m 2.5 -L --max-redirs 3 -u ada:enigma-2 -G \
         -d q=tea --data-urlencode 'r=a&b' -c jar -o /dev/null https://api.example/search --next \
         -T Cargo.toml https://ada:enigma-3@api.example/files/ --next -I https://api.example && \
         curl -d @Cargo.toml -H 'Content-Type: text/plain' https://api.example/x | jq ."
    ));
}

#[test]
fn notes_name_what_is_left_out() {
    let draft = draft("curl -u ada:enigma http://a/x?token=1 http://b/").unwrap();
    assert_eq!(draft.notes, ["1 request to another server is left out."]);
    assert_eq!(draft.url.as_deref(), Some("http://a"));
}

#[test]
fn what_is_no_command_is_an_error() {
    for (command, expected) in [
        ("", "the text has no curl command"),
        ("wget http://a", "the text has no curl command"),
        ("curl", "a curl command has no URL"),
        ("curl --frobnicate http://a", "the flag `--frobnicate` of curl is not known"),
        ("curl -Q x http://a", "the flag `-Q` of curl is not known"),
        ("curl -K a.txt http://a", "the flag `-K` of curl is not known"),
        ("curl --config a http://a", "the flag `--config` of curl is not known"),
        (
            "curl -G -d @a.txt http://a",
            "a curl command sends a file as the query of its URL, with `-G`",
        ),
        ("curl 'http://a", "a quote of the command is not closed"),
        ("curl ftp://a", "a curl command has no URL that begins with http:// or https://"),
    ] {
        assert_eq!(draft(command).unwrap_err().message, expected, "{command}");
    }
}

#[test]
fn a_proxy_that_cannot_be_named_is_left_out() {
    for proxy in [
        "user:9171/x@proxy:8080",
        "socks5://127.0.0.1:1080",
        "http://u:9171#x@p",
        "u:9171?x@p",
        "::",
    ] {
        let draft = draft(&format!("curl -x '{proxy}' http://a")).unwrap();
        let text = format!("{}{}", checked(&draft), draft.notes.join("\n"));
        assert!(draft.notes[0].starts_with("The proxy is left out"), "{text}");
        assert!(!text.contains("9171") && !text.contains("proxy ="), "{proxy} in\n{text}");
    }
}

#[test]
fn a_socket_is_the_server() {
    let draft = draft("curl --unix-socket /run/app.sock http://localhost/a").unwrap();
    assert_eq!(draft.url.as_deref(), Some("unix:/run/app.sock"));
}

#[test]
fn no_secret_is_in_the_draft() {
    let text = draft(
        "curl 'http://u:SECRET-00@a/x/eyJhbGciOiJIUzI1NiJ9.SECRET01.x?token=SECRET-02&b=SECRET-03' \
         -H 'X-Api-Key: SECRET-03' -H 'Authorization: Basic SECRET-04' -b 'sid=SECRET-05' \
         -d 'password=SECRET-06&email=SECRET-07&again=SECRET-06' && \
         curl http://a/y -H 'content-type: application/json' \
         -d '{\"a\": [{\"secret\": \"SECRET-08\"}], \"b\": \"see SECRET-08\", \"pin\": 5123}' && \
         curl http://a/z -F password=SECRET-09 -F user=SECRET-10 -F 'f=x;filename=SECRET-09' && \
         curl http://a/w -H 'content-type: text/xml' -d '<password>SECRET-11</password>SECRET-05' && \
         curl -k --cert c.pem:SECRET-12 -u SECRET-13:SECRET-14 -x http://SECRET-15:SECRET-16@p http://a/v",
    );
    let text = text.unwrap().text();
    assert!(
        !text.contains("SECRET-") && !text.contains("SECRET01") && !text.contains("5123"),
        "{text}"
    );
}

proptest! {
    #[test]
    fn no_text_panics(text in ".*") {
        let _ = draft(&text);
        let _ = draft(&format!("curl {text}"));
        let _ = draft(&format!("curl $'{text}"));
    }

    #[test]
    fn any_words_become_a_scenario(words in prop::collection::vec("[ -;=?A-~é]{1,30}", 5)) {
        let quoted: Vec<String> =
            words.iter().map(|word| format!("'{}'", word.replace('\'', ""))).collect();
        let [path, header, data, field, form] = quoted.as_slice() else { unreachable!() };
        let command = format!(
            "curl http://a/{path}?{path} -H {header} -H x:{header} -d {data} -d {field}; \
             curl http://a -F a={form} -F {field}={path}; \
             curl http://a --json {{\"a\":\"b\"{form}}} --json '{{\"{}\":1}}'",
            words[2].replace(['\'', '"', '\\'], ""),
        );
        if let Ok(draft) = draft(&command) {
            checked(&draft);
        }
    }
}
