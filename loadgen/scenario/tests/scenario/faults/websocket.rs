//! Faults of steps over a WebSocket.

use super::{message, step};

faults! {
    websocket_that_no_step_opens: message(
        "[[step]]\nget = \"/\"\n\n[[step]]\nsend = { text = \"a\" }\n\n[[step]]\nclose = true\n\n\
         [[step]]\nwebsocket = \"/ws\"\n"
    );
    websocket_of_another_flow: message(
        "assign = \"user\"\n[[flow]]\nname = \"a\"\n[[flow.step]]\nwebsocket = \"/ws\"\n\n\
         [[flow]]\nname = \"b\"\n[[flow.step]]\nreceive = true\n"
    );
    keys_without_meaning_for_a_websocket: message(
        "[[step]]\nwebsocket = \"/ws\"\nbody = { text = \"a\" }\nexpect = { json = { \"\" = 1 }, stream = true }\n\n\
         [[step]]\nsend = { text = \"a\" }\nheaders = { x-a = \"1\" }\n\
         expect = { status = 200, not = { headers = { x-a = true } } }\n\
         capture = { a = { header = \"x-a\" } }\n\n\
         [[step]]\nname = \"quiet\"\nsend = { text = \"a\", reply = false }\ncounters = { n = \"/n\" }\n\n\
         [[step]]\nclose = true\nexpect = { body = \"a\" }\n\n\
         [[step]]\nget = \"/\"\nsubprotocol = \"chat\"\n"
    );
    websocket_of_wrong_types: message(
        "[[step]]\nwebsocket = \"ws://host/\"\n[[step]]\nsend = \"hello\"\n\
         [[step]]\nname = \"a\"\nsend = { text = \"a\", json = 1 }\n\
         [[step]]\nname = \"b\"\nsend = { reply = false }\n[[step]]\nreceive = 1\n[[step]]\nclose = false\n"
    );
    headers_of_the_opening_handshake: step(
        "websocket = \"/ws\"\nsubprotocol = \"two words\"\n\
         headers = { Sec-WebSocket-Protocol = \"chat\", upgrade = \"h2c\" }"
    );
    websocket_over_http_2: message("[http]\nversion = \"2\"\n\n[[step]]\nwebsocket = \"/ws\"\n");
    websocket_with_redirects: message("[[step]]\nwebsocket = \"/ws\"\nredirects = 1\n");
    websocket_with_reqwest: message("[http]\ntransport = \"reqwest\"\n[[step]]\nwebsocket = \"/ws\"\n");
}
