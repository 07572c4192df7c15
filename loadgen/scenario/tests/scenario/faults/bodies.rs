//! Faults of queries, and of bodies of requests.

use super::step;

faults! {
    empty_body: step("post = \"/\"\nbody = {}");
    body_of_two_kinds: step("post = \"/\"\nbody = { json = 1, text = \"1\" }");
    repeated_text: step("post = \"/\"\nbody = { text = \"1\", repeat = 2 }");
    json_with_unsupported_values: step("post = \"/\"\nbody = { json = [2026-01-01, inf, 1] }");

    faulty_pairs: step("post = \"/\"\nquery = { a = { b = 1 }, c = [\"{{ non }}\"] }\nbody = { form = { d = [[1]] }, repeat = 2 }");

    faulty_files: step(r#"post = "/a"
body = { file = "none.jpg", content_tpe = "image/jpeg" }

[[step]]
post = "/b"
body = { file = "src", repeat = 2 }

[[step]]
post = "/c"
body = { file = "/dev/zero" }"#);
    faulty_fields: step(r#"post = "/"
[step.body]
content_type = "multipart/form-data"
[step.body.multipart]
a = { file = "none.jpg" }
b = { text = "{{ usr }}", fil = "x" }
c = { text = "1", json = 1 }
d = { filename = "a.jpg" }
e = [[1], 2026-01-01]
f = { text = "1", filename = "a\u0000" }
"g\u0000" = 1"#);
    no_fields: step("post = \"/\"\nbody = { multipart = {} }");
}
