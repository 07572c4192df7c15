//! Faults of a step's request: its method, path, headers and login.

use super::{message, step, to_run};

faults! {
    no_request: step("name = \"idle\"");
    two_requests: step("get = \"/\"\nhead = \"/\"");
    path_with_host: step("get = \"http://localhost:8000/\"");
    path_with_a_space: step("get = \"/a b\"");
    timeout_too_long: step("get = \"/\"\ntimeout = \"1h\"");
    same_name_twice: step("name = \"a\"\nget = \"/\"\n\n[[step]]\nname = \"a\"\nget = \"/b\"");
    same_default_name_twice: step("get = \"/\"\n\n[[step]]\nget = \"/\"");
    invalid_header_names: step("get = \"/\"\nheaders = { \"a b\" = \"1\", Transfer-Encoding = \"chunked\" }");
    header_twice: step("get = \"/\"\nheaders = { Accept = \"*/*\", accept = \"*/*\" }");
    header_with_a_line_break: step("get = \"/\"\nheaders = { x = \"a\\r\\nb: c\" }");
    content_type_beside_a_body:
        step("post = \"/\"\nheaders = { Content-Type = \"a/b\" }\nbody = { text = \"x\" }");

    methods_that_cannot_be_sent: message("[[step]]\nrequest = \"/files\"\n\n[[step]]\nrequest = \"CONNECT /a\"\n\n\
        [[step]]\nrequest = \"PROP(FIND /b\"\n\n[[step]]\nrequest = \"PROPFIND files\"\n");

    faulty_auth: to_run(r#"http.auth = { user = "{{ iteration }}", pasword = "x" }

[[step]]
get = "/a"
auth = { user = "a:b", password = "a\tb" }

[[step]]
get = "/b"
auth = { user = "{{ env LINES }}", password = "{{ env LINES }}" }

[[step]]
get = "/c"
auth = { user = "anna", password = "" }
headers = { Authorization = "Bearer x" }

[[step]]
get = "/d"
auth = "anna:x""#);

}
