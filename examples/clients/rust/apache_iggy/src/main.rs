//! A driver of crate iggy 0.11.0, the SDK of Apache Iggy for Rust, for `wireproof client`.

use driver::{Answer, Library, Members, Refusal, base64, serve};
use iggy::prelude::*;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::str::FromStr;

const NAME_AND_PASSWORD: &str = "iggy";

#[derive(Default)]
struct ApacheIggy {
    settings: Value,
    client: Option<IggyClient>,
}

impl Library for ApacheIggy {
    async fn answer(&mut self, request: &Value) -> Answer {
        match request.text("op") {
            "create_stream" => self.create_stream(request).await,
            "poll" => self.poll(request).await,
            "send" => self.send(request).await,
            "open" => {
                self.settings = request["settings"].clone();
                Ok(json!({}))
            }
            _ => Ok(json!({})),
        }
    }
}

impl ApacheIggy {
    /// Return the library's client, which connects and logs in again by itself.
    async fn client(&mut self) -> Result<&IggyClient, IggyError> {
        if self.client.is_none() {
            self.client = Some(connect(&self.settings).await?);
        }
        Ok(self.client.as_ref().expect("it was made"))
    }

    async fn create_stream(&mut self, request: &Value) -> Answer {
        let stream = self.client().await?.create_stream(request.text("name")).await?;
        Ok(json!({ "id": stream.id, "name": stream.name }))
    }

    async fn poll(&mut self, request: &Value) -> Answer {
        let value = request.text("value").parse().unwrap_or(0);
        let strategy = match request.text("strategy") {
            "offset" => PollingStrategy::offset(value),
            "timestamp" => PollingStrategy::timestamp(IggyTimestamp::from(value)),
            "first" => PollingStrategy::first(),
            "last" => PollingStrategy::last(),
            _ => PollingStrategy::next(),
        };
        let (stream, topic) = (self.identifier("stream")?, self.identifier("topic")?);
        let partition = self.settings.number("partition") as u32;
        let consumer = Consumer::new(Identifier::numeric(1)?);
        let count = request.number("count") as u32;
        let commit = request["auto_commit"] == json!(true);
        let client = self.client().await?;
        let polled = client
            .poll_messages(&stream, &topic, Some(partition), &consumer, &strategy, count, commit)
            .await?;
        let messages: Vec<_> = polled.messages.iter().map(told).collect();
        Ok(json!({ "messages": messages }))
    }

    async fn send(&mut self, request: &Value) -> Answer {
        let given = &request["partitioning"];
        let own = Partitioning::partition_id(self.settings.number("partition") as u32);
        let partitioning = if given.is_null() { own } else { partitioning(given)? };
        let messages = request["messages"].as_array().expect("messages").iter();
        let mut messages = messages.map(message).collect::<Result<Vec<_>, _>>()?;
        let (stream, topic) = (self.identifier("stream")?, self.identifier("topic")?);
        let client = self.client().await?;
        let response = client.send_messages(&stream, &topic, &partitioning, &mut messages).await?;
        let confirmations: Vec<_> = response.confirmations.iter().map(confirmed).collect();
        Ok(json!({ "confirmations": confirmations }))
    }

    fn identifier(&self, name: &str) -> Result<Identifier, IggyError> {
        Identifier::numeric(self.settings.number(name) as u32)
    }
}

/// Return a client of the library that is logged in.
async fn connect(settings: &Value) -> Result<IggyClient, IggyError> {
    let transport = settings.text("transport");
    let address = settings.text(transport);
    let builder = IggyClientBuilder::new();
    if transport == "http" {
        let client = builder.with_http().with_api_url(format!("http://{address}")).build()?;
        client.login_user(NAME_AND_PASSWORD, NAME_AND_PASSWORD).await?;
        return Ok(client);
    }
    // By default a call waits for a server that is gone without end, and 5 s before it connects
    // again: a case lasts 6 s.
    let client = builder
        .with_tcp()
        .with_server_address(address.to_string())
        .with_auto_sign_in(AutoLogin::Enabled(Credentials::UsernamePassword(
            NAME_AND_PASSWORD.to_string(),
            NAME_AND_PASSWORD.into(),
        )))
        .with_reconnection_max_retries(Some(1))
        .with_reconnection_interval(NonZeroIggyDuration::from_str("100ms").expect("not zero"))
        .with_reestablish_after(IggyDuration::from_str("100ms").expect("a duration"))
        .build()?;
    client.connect().await?;
    Ok(client)
}

fn partitioning(given: &Value) -> Result<Partitioning, IggyError> {
    let value = given.binary("value");
    Ok(match given.text("kind") {
        "balanced" => Partitioning::balanced(),
        "partition_id" => {
            Partitioning::partition_id(u32::from_le_bytes(value.try_into().expect("4 bytes")))
        }
        _ => Partitioning::messages_key(&value)?,
    })
}

fn message(given: &Value) -> Result<IggyMessage, Refusal> {
    let headers = match &given["headers"] {
        // The keys of an object are text; other keys stand in an array.
        Value::Object(headers) => headers
            .iter()
            .map(|(key, value)| Ok((HeaderKey::try_from(key.as_str())?, field(value)?)))
            .collect::<Result<_, Refusal>>()?,
        Value::Array(headers) => headers
            .iter()
            .map(|each| Ok((field(&each["key"])?, field(&each["value"])?)))
            .collect::<Result<_, Refusal>>()?,
        _ => BTreeMap::new(),
    };
    Ok(IggyMessage::builder()
        .maybe_id(given["id"].as_str().map(|id| id.parse().expect("an id")))
        .payload(given.binary("payload").into())
        .maybe_user_headers((!headers.is_empty()).then_some(headers))
        .build()?)
}

/// Return a key or value of the library.
fn field<T>(given: &Value) -> Result<HeaderField<T>, Refusal> {
    let unknown = |_| Refusal::Unsupported("headers".to_string());
    let kind: HeaderKind = serde_json::from_value(given["kind"].clone()).map_err(unknown)?;
    Ok(HeaderField::from_raw(kind, &given.binary("value"))?)
}

/// Return what the library tells its user of a message.
fn told(message: &IggyMessage) -> Value {
    let header = &message.header;
    let mut told = json!({
        "offset": header.offset.to_string(),
        "timestamp": header.timestamp.to_string(),
        "origin_timestamp": header.origin_timestamp.to_string(),
        "id": header.id.to_string(),
        "checksum": header.checksum.to_string(),
        "payload": base64(&message.payload),
    });
    match message.user_headers_map() {
        Ok(headers) => told["headers"] = named(&headers.unwrap_or_default()),
        Err(error) => told["warning"] = json!(error.to_string()),
    }
    told
}

/// Return headers as an object by key if all keys are text, otherwise as an array.
fn named(headers: &BTreeMap<HeaderKey, HeaderValue>) -> Value {
    let mut named = Map::new();
    for (key, value) in headers {
        let Ok(text) = key.as_str() else {
            let pair = |(key, value)| json!({ "key": typed(key), "value": typed(value) });
            return headers.iter().map(pair).collect();
        };
        named.insert(text.to_string(), typed(value));
    }
    Value::Object(named)
}

fn typed<T>(field: &HeaderField<T>) -> Value {
    json!({ "kind": field.kind(), "value": base64(field.as_bytes()) })
}

fn confirmed(given: &SendMessagesConfirmationResponse) -> Value {
    json!({
        "stream": given.stream_id,
        "topic": given.topic_id,
        "partition": given.partition_id,
        "base_offset": given.base_offset.to_string(),
    })
}

#[tokio::main]
async fn main() {
    let claims = ["tcp", "http", "headers"];
    serve(
        "crate iggy",
        "0.11.0",
        &["create_stream", "poll", "send"],
        &claims,
        ApacheIggy::default(),
    )
    .await;
}
