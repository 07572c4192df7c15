//! Reads arbitrary bytes as the response to a call, for tests and fuzzers.

use std::sync::OnceLock;

use super::Call;
use super::reply::LONGEST_JSON;
use loadgen_scenario::protos_of_text;

/// Number of body bytes that are kept if nothing reads the message.
const BEGINNING: usize = 1 << 10;

/// Returns a call whose messages have fields of every kind.
pub(super) fn call() -> Option<&'static Call> {
    static CALL: OnceLock<Option<Call>> = OnceLock::new();
    let made = || {
        let protos = protos_of_text(include_str!("everything.proto")).ok()?;
        Some(Call::new(&protos.method("/all.Echo/Say")?))
    };
    CALL.get_or_init(made).as_ref()
}

/// Reads a fuzzer's input: the values of `grpc-status` and `grpc-message`, each with a line feed after
/// it, and the body.
///
/// # Panics
/// Panics if the JSON form of a message is longer than the limit, is no JSON, or is not the same again;
/// or if the beginning of a body does not suffice to tell whether it is one message.
pub fn reply_foreign(data: &[u8]) {
    let mut parts = data.splitn(3, |byte| *byte == b'\n');
    let (Some(status), Some(message), Some(body)) = (parts.next(), parts.next(), parts.next())
    else {
        return;
    };
    let Some(call) = call() else { panic!("the service does not compile") };
    let head = |name: &str| (name == "content-type").then_some(&b"application/grpc+proto"[..]);
    let end = |name: &str| match name {
        "grpc-status" => Some(status),
        "grpc-message" => Some(message),
        _ => None,
    };
    let received = body.len() as u64;
    let reply = call.reply(head, end, body, received);
    let beginning = &body[..body.len().min(BEGINNING)];
    let told = call.reply(head, end, beginning, received);
    assert_eq!(told.as_ref().err(), reply.as_ref().err());
    let Ok(reply) = reply else { return };
    let json = reply.json(body);
    assert_eq!(json, reply.json(body));
    if let Ok(json) = json {
        assert!(json.len() <= LONGEST_JSON, "{} bytes", json.len());
        assert!(json.is_empty() || serde_json::from_slice::<serde_json::Value>(json).is_ok());
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    /// Folder of the inputs from which the fuzzer starts.
    const SEEDS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../fuzz/seeds/reply");

    /// Returns the JSON form of the message in the body of a successful call.
    fn read(body: &[u8]) -> Result<Value, String> {
        let head = |name: &str| match name {
            "content-type" => Some(&b"application/grpc"[..]),
            "grpc-status" => Some(&b"0"[..]),
            _ => None,
        };
        let reply = call().unwrap().reply(head, head, body, body.len() as u64)?;
        let json =
            reply.json(body).map_err(|e| format!("expected {}, got {}", e.expected, e.got))?;
        Ok(serde_json::from_slice(json).unwrap())
    }

    fn sent_back(json: &Value) -> Value {
        read(&call().unwrap().request(json.to_string().as_bytes()).unwrap()).unwrap()
    }

    /// The names of seeds say what becomes of them.
    #[test]
    fn every_seed_of_the_fuzzer_is_read_or_refused() {
        let mut counts = [0; 2];
        for seed in std::fs::read_dir(SEEDS).unwrap() {
            let path = seed.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            let data = std::fs::read(&path).unwrap();
            reply_foreign(&data);
            let body = data.splitn(3, |byte| *byte == b'\n').nth(2).unwrap();
            let is_right = name.starts_with("right-");
            assert!(data.starts_with(b"0\n"), "{name}");
            assert_eq!(read(body).is_ok(), is_right, "{name}: {:?}", read(body));
            counts[usize::from(is_right)] += 1;
        }
        assert!(counts.iter().all(|count| *count >= 4), "{counts:?}");
    }

    #[test]
    fn a_message_is_shown_with_its_default_values_and_with_numbers() {
        let all = sent_back(&json!({}));
        assert_eq!(all["small"], 0);
        assert_eq!(all["signedSmall"], 0, "in lower camel case");
        assert_eq!(
            (&all["text"], &all["color"], &all["words"]),
            (&json!(""), &json!("NONE"), &json!([]))
        );
        // Those that are known to be missing are left out.
        for name in ["perhaps", "inner", "left", "right", "at", "wrapped"] {
            assert_eq!(all.get(name), None, "{name}");
        }
        let large =
            json!({ "large": i64::MIN, "huge": u64::MAX, "numbers": [9_007_199_254_740_993_i64] });
        let back = sent_back(&large);
        assert_eq!(
            ["large", "huge", "numbers"].map(|it| &back[it]),
            ["large", "huge", "numbers"].map(|it| &large[it])
        );
        let back = sent_back(
            &json!({ "huge": "18446744073709551615", "signed_small": -7, "color": 7, "raw": "AAE=" }),
        );
        assert_eq!((&back["huge"], &back["signedSmall"]), (&json!(u64::MAX), &json!(-7)));
        assert_eq!((&back["color"], &back["raw"]), (&json!("BLUE"), &json!("AAE=")));
    }

    #[test]
    fn a_few_bytes_take_no_more_memory_than_the_limit() {
        // Each of these messages has no field of its own, but a hundred times as many bytes of JSON.
        let many = [0x9a, 1, 0].repeat((4 << 20) / 3);
        let body = [&[0][..], &(many.len() as u32).to_be_bytes(), &many].concat();
        let wrong = read(&body).unwrap_err();
        assert!(
            wrong.contains("at most 16 MiB as JSON, the limit for checks, got a longer one"),
            "{wrong}"
        );
        let long =
            [&[0][..], &(4_u32 << 20).wrapping_add(1).to_be_bytes(), &vec![0; (4 << 20) + 1]]
                .concat();
        let wrong = read(&long).unwrap_err();
        assert!(
            wrong.contains("at most 4 MiB, the limit for checks, got one of 4194305 bytes"),
            "{wrong}"
        );
    }

    fn scalars() -> impl Strategy<Value = Value> {
        let numbers =
            (any::<i32>(), any::<i64>(), any::<u32>(), any::<u64>(), any::<i32>(), any::<i64>());
        let others = (
            any::<bool>(),
            any::<f32>(),
            any::<f64>(),
            ".{0,12}",
            prop::sample::select(vec!["NONE", "RED", "BLUE"]),
        );
        (numbers, others).prop_map(|((a, b, c, d, e, f), (truth, single, twice, text, color))| {
            json!({
                "small": a, "large": b, "natural": c, "huge": d, "signedSmall": e, "signedLarge": f,
                "fixedSmall": c, "fixedLarge": b, "truth": truth, "single": single, "twice": twice,
                "text": text, "color": color, "words": [text, ""], "numbers": [b, f, 0], "counts": { text.clone(): b },
            })
        })
    }

    proptest! {
        #[test]
        fn a_message_survives_its_way_over_the_wire(outer in scalars(), inner in scalars(), has: bool, key: u32) {
            let mut sent = outer;
            if has {
                sent["inner"] = inner.clone();
                sent["byNumber"] = json!({ key.to_string(): inner });
                sent["right"] = json!(0);
                sent["perhaps"] = json!("");
            }
            let once = sent_back(&sent);
            for (name, value) in sent.as_object().unwrap() {
                match value {
                    Value::Object(_) => {}
                    // JSON has them with the digits of 64 bits.
                    _ if name == "single" => {
                        let came = once[name].as_f64().unwrap() as f32;
                        prop_assert_eq!(came, value.as_f64().unwrap() as f32);
                    }
                    _ => prop_assert_eq!(&once[name], value, "{}", name),
                }
            }
            prop_assert_eq!(sent_back(&once), once);
        }

        #[test]
        fn no_input_takes_more_memory_than_the_limit(
            head in "[0-9]{0,3}\n(%[0-9a-f]{0,2}|x){0,4}\n",
            flag in 0..3_u8,
            over in -1..2_i64,
            message: Vec<u8>,
        ) {
            let length = u32::try_from((message.len() as i64 + over).max(0)).unwrap();
            reply_foreign(&[head.as_bytes(), &[flag], &length.to_be_bytes(), &message].concat());
            reply_foreign(&[head.as_bytes(), &message].concat());
            reply_foreign(&message);
        }
    }
}
