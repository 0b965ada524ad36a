//! A driver of tokio-nsq 0.14.0 for `wireproof client`: see docs/driver-protocol.md.

use base64::{engine::general_purpose::STANDARD, Engine};
use serde_json::{json, Value};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio_nsq::*;

/// What the library has no word for: members of a request that the original NSQ does not know,
/// and the time-out that a consumer announces.
const UNSUPPORTED: [&str; 7] = [
    "key",
    "ext",
    "tag",
    "trace_id",
    "ordered",
    "trace",
    "msg_timeout_ms",
];

fn say(line: Value) {
    println!("{line}");
}

fn word<'a>(of: &'a Value, name: &str) -> &'a str {
    of[name].as_str().unwrap_or_default()
}

fn milliseconds(of: &Value, name: &str) -> Duration {
    Duration::from_millis(of[name].as_u64().unwrap_or_default())
}

#[derive(Default)]
struct Driver {
    settings: Value,
    producer: Option<NSQProducer>,
    consumer: Option<tokio::task::JoinHandle<()>>,
}

impl Driver {
    async fn answer(&mut self, request: &Value) -> Result<(), String> {
        match word(request, "op") {
            "open" => self.settings = request["settings"].clone(),
            "produce" => return self.produce(request).await,
            "consume" => self.consume(request),
            _ => self.close(),
        }
        Ok(())
    }

    /// Publish, and wait until the library says what became of it.
    async fn produce(&mut self, request: &Value) -> Result<(), String> {
        let topic = NSQTopic::new(word(request, "topic")).ok_or("no topic name")?;
        let body = STANDARD
            .decode(word(request, "body"))
            .map_err(|error| error.to_string())?;
        if self.producer.is_none() {
            self.producer = Some(NSQProducerConfig::new(word(&self.settings, "nsqd")).build());
        }
        let producer = self.producer.as_mut().unwrap();
        while producer.publish(&topic, body.clone()).await.is_err() {
            // The library refuses to publish without a connection, and says when it has one.
            if let Some(NSQEvent::Unhealthy()) | None = producer.consume().await {
                return Err("no connection".into());
            }
        }
        match producer.consume().await {
            Some(NSQEvent::Ok()) => Ok(()),
            // The library means to say Unhealthy when a connection fails, and never does: that
            // there is a new one tells that what was not acknowledged is lost.
            _ => Err("the connection failed".into()),
        }
    }

    fn consume(&mut self, request: &Value) {
        let lookupd = self.settings["lookupd"].as_array().into_iter().flatten();
        let addresses = lookupd.map(|each| format!("http://{}", each.as_str().unwrap_or_default()));
        let sources = NSQConsumerLookupConfig::new()
            .set_poll_interval(milliseconds(&self.settings, "lookup_interval_ms"))
            .set_addresses(addresses.collect());
        let mut consumer = NSQConsumerConfig::new(
            NSQTopic::new(word(request, "topic")).expect("a topic name"),
            NSQChannel::new(word(request, "channel")).expect("a channel name"),
        )
        .set_max_in_flight(request["max_in_flight"].as_u64().unwrap_or(20) as u32)
        .set_sources(NSQConsumerConfigSources::Lookup(sources))
        .build();
        let request = request.clone();
        self.consumer = Some(tokio::spawn(async move {
            while let Some(message) = consumer.consume_filtered().await {
                handle(&request, message).await;
            }
        }));
    }

    /// Let go; the library ends its connections when its objects are dropped.
    fn close(&mut self) {
        self.producer = None;
        if let Some(task) = self.consumer.take() {
            task.abort();
        }
    }
}

async fn handle(request: &Value, message: NSQMessage) {
    let halves: Vec<String> = message
        .id
        .chunks(8)
        .map(|half| u64::from_be_bytes(half.try_into().unwrap()).to_string())
        .collect();
    say(json!({
        "event": "message",
        "of": request["id"],
        "id": message.id.iter().map(|byte| format!("{byte:02x}")).collect::<String>(),
        "body": STANDARD.encode(&message.body),
        "internal_id": halves[0],
        "trace_id": halves[1],
        "attempts": message.attempt,
        "timestamp": message.timestamp.to_string(),
    }));
    match word(request, "handler") {
        "fail" => {
            let delay = NSQRequeueDelay::CustomDelay(Duration::from_millis(100));
            return message.requeue(delay).await;
        }
        "touch" => message.touch().await,
        "hold" => tokio::time::sleep(milliseconds(request, "hold_ms")).await,
        _ => {}
    }
    message.finish().await;
}

fn find_unsupported(request: &Value) -> Option<&str> {
    let op = word(request, "op");
    if !["open", "produce", "consume", "close"].contains(&op) {
        return Some(op);
    }
    UNSUPPORTED
        .into_iter()
        .find(|name| !matches!(request[*name], Value::Null | Value::Bool(false)))
}

#[tokio::main]
async fn main() {
    say(json!({
        "hello": "wireproof-driver",
        "versions": [1],
        "name": "tokio-nsq",
        "version": "0.14.0",
        "operations": ["produce", "consume"],
        "claims": [],
    }));
    let mut driver = Driver::default();
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let request: Value = serde_json::from_str(&line).expect("a request");
        let id = request["id"].clone();
        if let Some(what) = find_unsupported(&request) {
            say(json!({"id": id, "unsupported": what}));
            continue;
        }
        match driver.answer(&request).await {
            Ok(()) => say(json!({"id": id, "ok": {}})),
            Err(message) => say(json!({"id": id, "error": {"message": message}})),
        }
    }
    std::process::exit(0);
}
