//! A driver of crate iggy 0.0.40 for `wireproof client`: see docs/driver-protocol.md.

use base64::{engine::general_purpose::STANDARD, Engine};
use bytes::Bytes;
use iggy::client::{Client, MessageClient};
use iggy::consumer::Consumer;
use iggy::error::Error;
use iggy::http::client::HttpClient;
use iggy::identifier::Identifier;
use iggy::messages::poll_messages::{PollMessages, PollingKind, PollingStrategy};
use iggy::messages::send_messages::{Message, Partitioning, PartitioningKind, SendMessages};
use iggy::models::header::{HeaderKey, HeaderKind, HeaderValue};
use iggy::models::message::Message as Polled;
use iggy::tcp::client::TcpClient;
use serde_json::{json, Map, Value};
use std::collections::HashMap;
use std::io::BufRead;
use std::str::FromStr;

enum Library {
    Tcp(TcpClient),
    Http(HttpClient),
}

struct Driver {
    settings: Value,
    library: Option<Library>,
}

impl Driver {
    /// Return the library's client, connected; after an error it is made anew, because the
    /// library does not connect again by itself.
    async fn client(&mut self) -> Result<&Library, Error> {
        if self.library.is_none() {
            let transport = text(&self.settings, "transport");
            let address = text(&self.settings, &transport);
            self.library = Some(if transport == "http" {
                Library::Http(HttpClient::new(&format!("http://{address}"))?)
            } else {
                let mut client = TcpClient::new(&address)?;
                client.connect().await?;
                Library::Tcp(client)
            });
        }
        Ok(self.library.as_ref().expect("it was made"))
    }

    async fn poll(&mut self, request: &Value) -> Result<Value, Error> {
        let command = PollMessages {
            consumer: Consumer::new(1),
            stream_id: self.identifier("stream")?,
            topic_id: self.identifier("topic")?,
            partition_id: number(&self.settings, "partition") as u32,
            strategy: PollingStrategy {
                kind: PollingKind::from_str(&text(request, "strategy"))?,
                value: text(request, "value").parse().unwrap_or(0),
            },
            count: number(request, "count") as u32,
            auto_commit: request["auto_commit"] == json!(true),
        };
        let messages = match self.client().await? {
            Library::Tcp(client) => client.poll_messages(&command).await?,
            Library::Http(client) => client.poll_messages(&command).await?,
        };
        Ok(json!({ "messages": messages.iter().map(told).collect::<Vec<_>>() }))
    }

    async fn send(&mut self, request: &Value) -> Result<Value, Error> {
        let partition = number(&self.settings, "partition") as u32;
        let mut command = SendMessages {
            stream_id: self.identifier("stream")?,
            topic_id: self.identifier("topic")?,
            partitioning: match &request["partitioning"] {
                Value::Null => Partitioning::partition_id(partition),
                given => partitioning(given)?,
            },
            messages: Vec::new(),
        };
        for each in request["messages"].as_array().expect("messages") {
            let id = each["id"].as_str().map(|id| id.parse().expect("an id"));
            command.messages.push(Message::new(id, binary(each, "payload"), headers(each)?));
        }
        match self.client().await? {
            Library::Tcp(client) => client.send_messages(&mut command).await?,
            Library::Http(client) => client.send_messages(&mut command).await?,
        }
        Ok(json!({}))
    }

    fn identifier(&self, name: &str) -> Result<Identifier, Error> {
        Identifier::numeric(number(&self.settings, name) as u32)
    }
}

fn partitioning(given: &Value) -> Result<Partitioning, Error> {
    let value = binary(given, "value").to_vec();
    Ok(match PartitioningKind::from_str(&text(given, "kind"))? {
        PartitioningKind::Balanced => Partitioning::balanced(),
        kind => Partitioning { kind, length: value.len() as u8, value },
    })
}

fn headers(message: &Value) -> Result<Option<HashMap<HeaderKey, HeaderValue>>, Error> {
    let Some(given) = message["headers"].as_object() else {
        return Ok(None);
    };
    let mut headers = HashMap::new();
    for (key, header) in given {
        let kind = HeaderKind::from_str(&text(header, "kind"))?;
        let value = binary(header, "value").to_vec();
        headers.insert(HeaderKey::new(key)?, HeaderValue { kind, value });
    }
    Ok(Some(headers))
}

fn told(message: &Polled) -> Value {
    let mut headers = Map::new();
    for (key, header) in message.headers.iter().flatten() {
        let value = STANDARD.encode(&header.value);
        let kind = header.kind.to_string();
        headers.insert(key.as_str().to_string(), json!({ "kind": kind, "value": value }));
    }
    json!({
        "offset": message.offset.to_string(),
        "state": message.state.to_string(),
        "timestamp": message.timestamp.to_string(),
        "id": message.id.to_string(),
        "checksum": message.checksum,
        "headers": headers,
        "payload": STANDARD.encode(&message.payload),
    })
}

fn text(value: &Value, name: &str) -> String {
    value[name].as_str().unwrap_or_default().to_string()
}

fn number(value: &Value, name: &str) -> u64 {
    value[name].as_u64().unwrap_or_default()
}

fn binary(value: &Value, name: &str) -> Bytes {
    Bytes::from(STANDARD.decode(text(value, name)).expect("base64"))
}

fn say(line: Value) {
    println!("{line}");
}

#[tokio::main]
async fn main() {
    say(json!({
        "hello": "wireproof-driver", "versions": [1], "name": "crate iggy", "version": "0.0.40",
        "operations": ["poll", "send"], "claims": ["tcp", "http", "headers"],
    }));
    let mut driver = Driver { settings: Value::Null, library: None };
    for line in std::io::stdin().lock().lines() {
        let request: Value = serde_json::from_str(&line.expect("a line")).expect("JSON");
        let id = &request["id"];
        let done = match request["op"].as_str().unwrap_or_default() {
            "open" => {
                driver.settings = request["settings"].clone();
                Ok(json!({}))
            }
            "poll" => driver.poll(&request).await,
            "send" => driver.send(&request).await,
            "close" => Ok(json!({})),
            other => {
                say(json!({ "id": id, "unsupported": other }));
                continue;
            }
        };
        match done {
            Ok(result) => say(json!({ "id": id, "ok": result })),
            Err(error) => {
                driver.library = None;
                say(json!({ "id": id, "error": { "message": error.to_string() } }));
            }
        }
    }
}
