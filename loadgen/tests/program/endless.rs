//! Streams that real servers never end.

use crate::common::program::{Project, checkout};

/// An ASGI application that streams an event each 5 ms, until the client leaves.
const APP: &str = "\
import asyncio

async def app(scope, receive, send):
    if scope['type'] == 'http':
        headers = [(b'content-type', b'text/event-stream')]
        await send({'type': 'http.response.start', 'status': 200, 'headers': headers})
        leaving = asyncio.ensure_future(left(receive))
        number = 0
        while not leaving.done():
            number += 1
            event = b'data: %d\\n\\n' % number
            await send({'type': 'http.response.body', 'body': event, 'more_body': True})
            await asyncio.sleep(0.005)

async def left(receive):
    while (await receive())['type'] != 'http.disconnect':
        pass
";

#[test]
fn the_streams_of_real_servers_are_ended_at_an_event() {
    for (version, server, words) in [
        ("1.1", "uvicorn", "\"app:app\", \"--log-level=warning\", \"--port={port}\""),
        ("1.1", "hypercorn", "\"app:app\", \"--bind={host}:{port}\""),
        ("2", "hypercorn", "\"app:app\", \"--bind={host}:{port}\""),
    ] {
        let program = checkout().join(".venv/bin").join(server);
        let targets = format!("[target.{server}]\ncommand = [{program:?}, {words}]\n");
        let scenario = format!(
            "http = {{ version = \"{version}\" }}\n\
             load = {{ users = 4, iterations = 12 }}\n\
             [[step]]\nget = \"/\"\ntimeout = \"20s\"\n\
             expect.stream = {{ events = 5, close = true }}\n"
        );
        let project = Project::bare()
            .file("app.py", APP)
            .file("loadgen.toml", &targets)
            .file("s.toml", &scenario);
        let words = ["-s=s.toml", "-R1", "--warmup=0s", "--no-calibrate", "--json", "--out=result"];
        let finished = project.run(&words);
        assert_eq!(finished.code, Some(0), "{server}, {version}: {}", finished.said());
        let document = finished.json();
        let total = &document["targets"][0]["total"];
        assert_eq!((&total["requests"], &total["errors"]), (&12.into(), &0.into()), "{total}");
        let stream = &total["stream"];
        assert_eq!((&stream["events"], &stream["closed"]), (&60.into(), &12.into()), "{total}");
        let opened = document["targets"][0]["rounds"][0]["connections"]["opened"].as_u64().unwrap();
        assert_eq!(opened, if version == "2" { 4 } else { 12 }, "{server}");
        let verdicts = document["verdicts"].as_array().unwrap();
        assert!(verdicts.iter().all(|it| it["kind"] != "more_connections"), "{verdicts:?}");
    }
}
