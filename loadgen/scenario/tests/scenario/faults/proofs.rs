//! Faults of `[[proof]]`.

use super::message;

/// Returns the message for a scenario that counts `queued`,
/// runs Redis, and is valid except for this proof.
fn proof(lines: &str) -> String {
    message(&format!(
        "backends = [\"redis\"]\n\n[[step]]\nget = \"/\"\ncounters = {{ queued = \"/n\" }}\n\n\
         [[proof]]\n{lines}\n"
    ))
}

faults! {
    empty_proof: proof("");
    proof_with_two_questions:
        proof("redis = \"LLEN queue\"\npostgres = \"SELECT 1\"\ncounter = \"queued\"\nvalue = 1");
    proof_with_unknown_keys: proof("rediss = \"LLEN queue\"\nvalu = 1");
    proof_by_a_backend_that_does_not_run:
        proof("postgres = \"SELECT count(*) FROM items\"\ncounter = \"queued\"");
    proof_of_an_unknown_counter: proof("redis = \"LLEN queue\"\ncounter = \"queud\"");
    proof_of_a_counter_without_a_reader: message(
        "backends = [\"redis\"]\n[[step]]\nget = \"/\"\n\n[[proof]]\nredis = \"LLEN queue\"\ncounter = \"queued\"\n"
    );
    proof_of_wrong_types: proof("redis = [\"LLEN\", \"queue\"]\nvalue = \"0\"");
    proof_with_an_empty_question: proof("redis = \" \"\nvalue = 0");
    proof_of_a_negative_value: proof("redis = \"LLEN queue\"\nvalue = -1");
    proofs_without_brackets: message("proof = 5\n[[step]]\nget = \"/\"\n");
}
