//! Lines of JSON.

use iggy::error::Error;
use iggy::models::message::Message;
use serde_json::{json, Value};
use std::fmt::Write;

/// Write one line, at once.
pub fn say(event: &str, fields: Value) {
    let mut line = json!({ "event": event });
    if let (Value::Object(line), Value::Object(fields)) = (&mut line, fields) {
        line.extend(fields);
    }
    println!("{line}");
}

/// Say what a call failed with.
pub fn say_error<T>(of: &str, result: Result<T, Error>) {
    match result {
        Ok(_) => say("succeeded", json!({ "of": of })),
        Err(error) => say("failed", json!({ "of": of, "error": error.to_string() })),
    }
}

/// Say what a poll found.
pub fn say_polled(of: &str, messages: &[Message]) {
    let messages: Vec<Value> = messages.iter().map(message).collect();
    say("polled", json!({ "of": of, "messages": messages }));
}

fn message(message: &Message) -> Value {
    let headers = message.headers.as_ref().map(|headers| {
        headers
            .iter()
            .map(|(key, value)| {
                let kind = value.kind.to_string();
                (key.as_str().to_string(), json!([kind, hex(&value.value)]))
            })
            .collect::<serde_json::Map<String, Value>>()
    });
    json!({
        "offset": message.offset.to_string(),
        "state": message.state.to_string(),
        "timestamp": message.timestamp.to_string(),
        "id": message.id.to_string(),
        "checksum": message.checksum,
        "headers": headers,
        "length": message.length,
        "payload": hex(&message.payload),
    })
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
