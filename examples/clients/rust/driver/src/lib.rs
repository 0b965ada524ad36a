//! What drivers of Rust libraries share: the lines of docs/driver-protocol.md.

use base64::{engine::general_purpose::STANDARD, Engine};
use serde_json::{json, Value};
use std::future::Future;
use std::time::Duration;

/// Why a request has no result.
pub enum Refusal {
    /// The library has no word for this member or operation.
    Unsupported(String),
    /// What the library tells its user.
    Error(String),
}

impl<E: std::error::Error> From<E> for Refusal {
    fn from(error: E) -> Self {
        Refusal::Error(error.to_string())
    }
}

/// The result of a request, a JSON object.
pub type Answer = Result<Value, Refusal>;

/// A library as its driver uses it.
pub trait Library {
    /// Do what a request asks for; its `op` is `open`, `close`, or one that the greeting names.
    fn answer(&mut self, request: &Value) -> impl Future<Output = Answer>;
}

/// The members of an object; one that is not there reads as empty or zero.
pub trait Members {
    fn text(&self, name: &str) -> &str;
    fn number(&self, name: &str) -> u64;
    fn milliseconds(&self, name: &str) -> Duration;
    fn binary(&self, name: &str) -> Vec<u8>;
}

impl Members for Value {
    fn text(&self, name: &str) -> &str {
        self[name].as_str().unwrap_or_default()
    }

    fn number(&self, name: &str) -> u64 {
        self[name].as_u64().unwrap_or_default()
    }

    fn milliseconds(&self, name: &str) -> Duration {
        Duration::from_millis(self.number(name))
    }

    fn binary(&self, name: &str) -> Vec<u8> {
        STANDARD.decode(self.text(name)).expect("base64")
    }
}

/// Return bytes in base64.
pub fn base64(data: &[u8]) -> String {
    STANDARD.encode(data)
}

/// Refuse a request that has one of these members.
pub fn refuse(request: &Value, members: &[&str]) -> Result<(), Refusal> {
    let has = |name: &&&str| !matches!(request[**name], Value::Null | Value::Bool(false));
    match members.iter().find(has) {
        Some(name) => Err(Refusal::Unsupported(name.to_string())),
        None => Ok(()),
    }
}

/// Members of requests that the libraries here can be asked for, or refuse by name.
const MEMBERS: &str = "id op version settings topic body key ext tag trace_id channel handler \
    hold_ms max_in_flight msg_timeout_ms ordered trace name strategy value count auto_commit \
    messages partitioning";

/// Return the first member of a request that no library here knows.
fn unknown_member(request: &Value) -> Option<&str> {
    let is_known = |name: &str| MEMBERS.split(' ').any(|known| known == name);
    request.as_object()?.keys().map(String::as_str).find(|name| !is_known(name))
}

/// Write one line.
pub fn say(line: Value) {
    println!("{line}");
}

/// Write the event that a handler was given a message of NSQ.
pub fn tell_message(of: &Value, id: &[u8; 16], body: &[u8], attempts: u16, timestamp: u64) {
    let wide = u128::from_be_bytes(*id);
    say(json!({
        "event": "message",
        "of": of["id"],
        "id": format!("{wide:032x}"),
        "body": base64(body),
        "internal_id": ((wide >> 64) as u64).to_string(),
        "trace_id": (wide as u64).to_string(),
        "attempts": attempts,
        "timestamp": timestamp.to_string(),
    }));
}

/// Greet, and answer requests until the input ends. To read blocks the calling thread, so that
/// tasks that the library spawns need a runtime with several threads.
pub async fn serve(
    name: &str,
    version: &str,
    operations: &[&str],
    claims: &[&str],
    mut library: impl Library,
) {
    say(json!({
        "hello": "wireproof-driver", "versions": [1], "name": name, "version": version,
        "operations": operations, "claims": claims,
    }));
    for line in std::io::stdin().lines() {
        let request: Value = serde_json::from_str(&line.expect("a line")).expect("a request");
        let verb = request.text("op");
        let is_known = ["open", "close"].contains(&verb) || operations.contains(&verb);
        let unknown = if is_known { unknown_member(&request) } else { Some(verb) };
        let answer = match unknown {
            Some(name) => Err(Refusal::Unsupported(name.to_string())),
            None => library.answer(&request).await,
        };
        let id = &request["id"];
        say(match answer {
            Ok(result) => json!({"id": id, "ok": result}),
            Err(Refusal::Unsupported(what)) => json!({"id": id, "unsupported": what}),
            Err(Refusal::Error(message)) => json!({"id": id, "error": {"message": message}}),
        });
    }
}
