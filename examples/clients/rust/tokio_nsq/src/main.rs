//! A driver of tokio-nsq 0.14.0 for `wireproof client`: see docs/driver-protocol.md.

use driver::{refuse, serve, tell_message, Answer, Library, Members, Refusal};
use serde_json::{json, Value};
use std::time::Duration;
use tokio_nsq::*;

/// What the library has no word for: members of a request that the original NSQ does not know,
/// and the time-out that a consumer announces.
const UNSUPPORTED: [&str; 7] =
    ["key", "ext", "tag", "trace_id", "ordered", "trace", "msg_timeout_ms"];

#[derive(Default)]
struct TokioNsq {
    settings: Value,
    producer: Option<NSQProducer>,
    consumer: Option<tokio::task::JoinHandle<()>>,
}

impl Library for TokioNsq {
    async fn answer(&mut self, request: &Value) -> Answer {
        refuse(request, &UNSUPPORTED)?;
        match request.text("op") {
            "open" => self.settings = request["settings"].clone(),
            "produce" => self.produce(request).await?,
            "consume" => self.consume(request),
            // The library ends its connections when its objects are dropped.
            _ => {
                self.producer = None;
                if let Some(task) = self.consumer.take() {
                    task.abort();
                }
            }
        }
        Ok(json!({}))
    }
}

impl TokioNsq {
    /// Publish, and wait until the library says what became of it.
    async fn produce(&mut self, request: &Value) -> Result<(), Refusal> {
        let Some(topic) = NSQTopic::new(request.text("topic")) else {
            return Err(Refusal::Error("no topic name".into()));
        };
        let body = request.binary("body");
        let make = || NSQProducerConfig::new(self.settings.text("nsqd")).build();
        let producer = self.producer.get_or_insert_with(make);
        while producer.publish(&topic, body.clone()).await.is_err() {
            // The library refuses to publish without a connection, and says when it has one.
            if let Some(NSQEvent::Unhealthy()) | None = producer.consume().await {
                return Err(Refusal::Error("no connection".into()));
            }
        }
        match producer.consume().await {
            Some(NSQEvent::Ok()) => Ok(()),
            // The library means to say Unhealthy when a connection fails, and never does: that
            // there is a new one tells that what was not acknowledged is lost.
            _ => Err(Refusal::Error("the connection failed".into())),
        }
    }

    fn consume(&mut self, request: &Value) {
        let lookupd = self.settings["lookupd"].as_array().into_iter().flatten();
        let addresses = lookupd.map(|each| format!("http://{}", each.as_str().unwrap_or_default()));
        let sources = NSQConsumerLookupConfig::new()
            .set_poll_interval(self.settings.milliseconds("lookup_interval_ms"))
            .set_addresses(addresses.collect());
        let mut consumer = NSQConsumerConfig::new(
            NSQTopic::new(request.text("topic")).expect("a topic name"),
            NSQChannel::new(request.text("channel")).expect("a channel name"),
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
}

async fn handle(request: &Value, message: NSQMessage) {
    tell_message(request, &message.id, &message.body, message.attempt, message.timestamp);
    match request.text("handler") {
        "fail" => {
            let delay = NSQRequeueDelay::CustomDelay(Duration::from_millis(100));
            return message.requeue(delay).await;
        }
        "touch" => message.touch().await,
        "hold" => tokio::time::sleep(request.milliseconds("hold_ms")).await,
        _ => {}
    }
    message.finish().await;
}

#[tokio::main]
async fn main() {
    serve("tokio-nsq", "0.14.0", &["produce", "consume"], &[], TokioNsq::default()).await;
    std::process::exit(0);
}
