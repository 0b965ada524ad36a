//! A driver of crate iggy 0.0.40 for `wireproof client`: see docs/driver-protocol.md.

use driver::{base64, serve, Answer, Library, Members};
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
use std::str::FromStr;

#[derive(Default)]
struct Iggy {
    settings: Value,
    client: Option<Box<dyn MessageClient>>,
}

impl Library for Iggy {
    async fn answer(&mut self, request: &Value) -> Answer {
        let done = match request.text("op") {
            "poll" => self.poll(request).await,
            "send" => self.send(request).await,
            verb => {
                if verb == "open" {
                    self.settings = request["settings"].clone();
                }
                Ok(json!({}))
            }
        };
        if done.is_err() {
            // The library does not connect again by itself.
            self.client = None;
        }
        Ok(done?)
    }
}

impl Iggy {
    /// Return the library's client, connected.
    async fn client(&mut self) -> Result<&dyn MessageClient, Error> {
        if self.client.is_none() {
            let transport = self.settings.text("transport");
            let address = self.settings.text(transport);
            self.client = Some(if transport == "http" {
                Box::new(HttpClient::new(&format!("http://{address}"))?)
            } else {
                let mut client = TcpClient::new(address)?;
                client.connect().await?;
                Box::new(client)
            });
        }
        Ok(self.client.as_deref().expect("it was made"))
    }

    async fn poll(&mut self, request: &Value) -> Result<Value, Error> {
        let command = PollMessages {
            consumer: Consumer::new(1),
            stream_id: self.identifier("stream")?,
            topic_id: self.identifier("topic")?,
            partition_id: self.settings.number("partition") as u32,
            strategy: PollingStrategy {
                kind: PollingKind::from_str(request.text("strategy"))?,
                value: request.text("value").parse().unwrap_or(0),
            },
            count: request.number("count") as u32,
            auto_commit: request["auto_commit"] == json!(true),
        };
        let messages = self.client().await?.poll_messages(&command).await?;
        Ok(json!({ "messages": messages.iter().map(told).collect::<Vec<_>>() }))
    }

    async fn send(&mut self, request: &Value) -> Result<Value, Error> {
        let given = &request["partitioning"];
        let own = Partitioning::partition_id(self.settings.number("partition") as u32);
        let messages = request["messages"].as_array().expect("messages");
        let mut command = SendMessages {
            stream_id: self.identifier("stream")?,
            topic_id: self.identifier("topic")?,
            partitioning: if given.is_null() { own } else { partitioning(given)? },
            messages: messages.iter().map(message).collect::<Result<_, _>>()?,
        };
        self.client().await?.send_messages(&mut command).await?;
        Ok(json!({}))
    }

    fn identifier(&self, name: &str) -> Result<Identifier, Error> {
        Identifier::numeric(self.settings.number(name) as u32)
    }
}

fn partitioning(given: &Value) -> Result<Partitioning, Error> {
    let value = given.binary("value");
    Ok(match PartitioningKind::from_str(given.text("kind"))? {
        PartitioningKind::Balanced => Partitioning::balanced(),
        kind => Partitioning { kind, length: value.len() as u8, value },
    })
}

fn message(given: &Value) -> Result<Message, Error> {
    let id = given["id"].as_str().map(|id| id.parse().expect("an id"));
    let header = |(key, header): (&String, &Value)| {
        let kind = HeaderKind::from_str(header.text("kind"))?;
        let value = header.binary("value").into();
        Ok((HeaderKey::new(key)?, HeaderValue { kind, value }))
    };
    let headers: Option<Result<HashMap<_, _>, Error>> =
        given["headers"].as_object().map(|all| all.iter().map(header).collect());
    Ok(Message::new(id, given.binary("payload").into(), headers.transpose()?))
}

fn told(message: &Polled) -> Value {
    let mut headers = Map::new();
    for (key, header) in message.headers.iter().flatten() {
        let told = json!({ "kind": header.kind.to_string(), "value": base64(&header.value) });
        headers.insert(key.as_str().to_string(), told);
    }
    json!({
        "offset": message.offset.to_string(),
        "state": message.state.to_string(),
        "timestamp": message.timestamp.to_string(),
        "id": message.id.to_string(),
        "checksum": message.checksum,
        "headers": headers,
        "payload": base64(&message.payload),
    })
}

#[tokio::main]
async fn main() {
    let claims = ["tcp", "http", "headers"];
    serve("crate iggy", "0.0.40", &["poll", "send"], &claims, Iggy::default()).await;
}
