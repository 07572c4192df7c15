//! Tests that headers arrive as they are, however they are compressed: the server's decoder is that of the
//! crate `h2`.

use std::collections::BTreeMap;

use super::echo::Echo;
use super::run::run;

#[tokio::test(flavor = "multi_thread")]
async fn headers_arrive_whatever_table_the_server_has() {
    // Longer than a frame, and longer than a table.
    let (long, middle) = ("long ".repeat(8_000), "m".repeat(3_000));
    let (long, middle) = (long.trim_end(), middle.as_str());
    let step = format!(
        "get = \"/one\"\nheaders = {{ x-long = \"{long}\", x-own = \"1\", authorization = \"secret\" }}\n\
         [[step]]\nget = \"/two/{{{{ iteration }}}}\"\n\
         headers = {{ x-middle = \"{middle}\", x-id = \"{{{{ iteration }}}}\", x-own = \"2\" }}\n\
         [[step]]\npost = \"/three\"\nheaders = {{ host = \"{{{{ iteration }}}}.test\", x-own = \"3\" }}\n\
         body = {{ text = \"{{{{ iteration }}}}\" }}"
    );
    for table in [4_096, 0, 100, 3_500, 1 << 20] {
        for keys in ["", ", connections = 1"] {
            let server = Echo::start_with(table).await;
            let http = format!("version = \"2\"{keys}");
            let came = run(&server.url, &http, "users = 2, iterations_per_user = 7", &step).await;
            assert_eq!((came.answered(), came.errors()), (42, vec![]), "{:?}", came.counts);
            let mut seen = BTreeMap::<_, u32>::new();
            for (head, body) in server.requests() {
                let value = |name| head.headers.get(name).map(|it| it.to_str().unwrap());
                let path = head.uri.path();
                let own = match path {
                    "/one" => {
                        assert_eq!(value("authorization"), Some("secret"));
                        assert_eq!(value("x-long"), Some(long));
                        "1"
                    }
                    "/three" => {
                        let number = str::from_utf8(&body).unwrap();
                        assert_eq!(head.uri.host(), Some(format!("{number}.test").as_str()));
                        assert_eq!(
                            value("content-length"),
                            Some(number.len().to_string().as_str())
                        );
                        "3"
                    }
                    _ => {
                        assert_eq!(value("x-id"), path.strip_prefix("/two/"));
                        assert_eq!(value("x-middle"), Some(middle));
                        "2"
                    }
                };
                assert_eq!(value("x-own"), Some(own), "{path}");
                *seen.entry(own).or_default() += 1;
            }
            assert_eq!(seen, [("1", 14), ("2", 14), ("3", 14)].into());
        }
    }
}
