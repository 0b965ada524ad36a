//! What the program asks of the library.

use crate::said::{say, say_error, say_polled};
use bytes::Bytes;
use iggy::client::Client;
use iggy::consumer::Consumer;
use iggy::consumer_groups::create_consumer_group::CreateConsumerGroup;
use iggy::consumer_groups::delete_consumer_group::DeleteConsumerGroup;
use iggy::consumer_groups::get_consumer_group::GetConsumerGroup;
use iggy::consumer_groups::get_consumer_groups::GetConsumerGroups;
use iggy::consumer_groups::join_consumer_group::JoinConsumerGroup;
use iggy::consumer_groups::leave_consumer_group::LeaveConsumerGroup;
use iggy::consumer_offsets::get_consumer_offset::GetConsumerOffset;
use iggy::consumer_offsets::store_consumer_offset::StoreConsumerOffset;
use iggy::identifier::Identifier;
use iggy::messages::poll_messages::{PollMessages, PollingStrategy};
use iggy::messages::send_messages::{Message, Partitioning, SendMessages};
use iggy::models::header::{HeaderKey, HeaderValue};
use iggy::partitions::create_partitions::CreatePartitions;
use iggy::partitions::delete_partitions::DeletePartitions;
use iggy::streams::create_stream::CreateStream;
use iggy::streams::delete_stream::DeleteStream;
use iggy::streams::get_stream::GetStream;
use iggy::streams::get_streams::GetStreams;
use iggy::system::get_client::GetClient;
use iggy::system::get_clients::GetClients;
use iggy::system::get_me::GetMe;
use iggy::system::get_stats::GetStats;
use iggy::system::ping::Ping;
use iggy::topics::create_topic::CreateTopic;
use iggy::topics::delete_topic::DeleteTopic;
use iggy::topics::get_topic::GetTopic;
use iggy::topics::get_topics::GetTopics;
use serde_json::json;
use std::collections::HashMap;

type Headers = HashMap<HeaderKey, HeaderValue>;

const STREAM: u32 = 1;
const TOPIC: u32 = 1;
/// The library asks over HTTP for the group whose id is that of the stream.
const GROUP: u32 = STREAM;
const READER: u32 = 3;

/// Go through everything; only a connected client can be in a group.
pub async fn whole(client: &impl Client, connected: bool) {
    client.ping(&Ping {}).await.expect("ping");
    make(client).await;
    send(client).await;
    polls(client).await;
    offsets(client).await;
    groups(client, connected).await;
    tell(client).await;
    refusals(client).await;
    remove(client).await;
}

/// Read everything of one partition.
pub async fn poll_all(client: &impl Client) {
    match poll(
        client,
        Consumer::new(READER),
        1,
        PollingStrategy::offset(0),
        100,
        false,
    )
    .await
    {
        Ok(messages) => say_polled("all", &messages),
        error => say_error("all", error),
    }
}

async fn make(client: &impl Client) {
    let name = "Orders Stream".to_string();
    client
        .create_stream(&CreateStream {
            stream_id: STREAM,
            name,
        })
        .await
        .expect("a stream");
    let name = "Orders".to_string();
    let topic = CreateTopic {
        stream_id: stream(),
        topic_id: TOPIC,
        partitions_count: 1,
        name,
    };
    client.create_topic(&topic).await.expect("a topic");
    let more = CreatePartitions {
        stream_id: stream(),
        topic_id: topic_id(),
        partitions_count: 3,
    };
    client
        .create_partitions(&more)
        .await
        .expect("more partitions");
    let less = DeletePartitions {
        stream_id: stream(),
        topic_id: topic_id(),
        partitions_count: 1,
    };
    client
        .delete_partitions(&less)
        .await
        .expect("fewer partitions");
}

async fn send(client: &impl Client) {
    let first = Partitioning::partition_id(1);
    let messages = vec![
        Message::new(None, Bytes::from("orders_data_2"), None),
        Message::new(
            Some(u128::MAX),
            Bytes::from("orders_data_3"),
            Some(headers()),
        ),
        Message::new(Some(7), Bytes::from((0..=255).collect::<Vec<u8>>()), None),
    ];
    put(client, first, messages).await;
    let key = Partitioning::messages_key_str("a").expect("a key");
    put(
        client,
        key,
        vec![Message::new(Some(8), Bytes::from("by key"), None)],
    )
    .await;
    for number in 0..3u128 {
        let message = Message::new(Some(100 + number), Bytes::from("balanced"), None);
        put(client, Partitioning::balanced(), vec![message]).await;
    }
}

async fn polls(client: &impl Client) {
    let reader = || Consumer::new(READER);
    let strategies = [
        ("offset 0", PollingStrategy::offset(0), false),
        ("offset 2", PollingStrategy::offset(2), false),
        ("offset 99", PollingStrategy::offset(99), false),
        ("first", PollingStrategy::first(), false),
        ("last", PollingStrategy::last(), false),
        ("next", PollingStrategy::next(), true),
        ("next again", PollingStrategy::next(), true),
        ("next at the end", PollingStrategy::next(), true),
    ];
    for (of, strategy, commit) in strategies {
        let found = poll(client, reader(), 1, strategy, 2, commit)
            .await
            .expect(of);
        say_polled(of, &found);
        if of == "offset 2" {
            let time = PollingStrategy::timestamp(found[0].timestamp);
            let same = poll(client, reader(), 1, time, 1, false)
                .await
                .expect("a time");
            say_polled("its time", &same);
        }
    }
    for (of, partition) in [("partition 2", 2), ("partition 3", 3)] {
        let all = PollingStrategy::offset(0);
        say_polled(
            of,
            &poll(client, reader(), partition, all, 10, false)
                .await
                .expect(of),
        );
    }
}

async fn offsets(client: &impl Client) {
    let offset = StoreConsumerOffset {
        consumer: Consumer::new(4),
        stream_id: stream(),
        topic_id: topic_id(),
        partition_id: 1,
        offset: 2,
    };
    client
        .store_consumer_offset(&offset)
        .await
        .expect("an offset");
    for consumer in [READER, 4, 5] {
        let found = client
            .get_consumer_offset(&offset_of(consumer, 1))
            .await
            .expect("an offset");
        say(
            "offset",
            json!({ "consumer": found.consumer_id, "offset": found.offset }),
        );
    }
}

async fn groups(client: &impl Client, connected: bool) {
    let (stream_id, topic_id) = (stream, topic_id);
    let group = CreateConsumerGroup {
        stream_id: stream_id(),
        topic_id: topic_id(),
        consumer_group_id: GROUP,
    };
    client.create_consumer_group(&group).await.expect("a group");
    if connected {
        let join = JoinConsumerGroup {
            stream_id: stream_id(),
            topic_id: topic_id(),
            consumer_group_id: GROUP,
        };
        client.join_consumer_group(&join).await.expect("a member");
        let me = client.get_me(&GetMe {}).await.expect("me");
        let same = client
            .get_client(&GetClient { client_id: me.id })
            .await
            .expect("a client");
        let groups = same.consumer_groups_count;
        say(
            "me",
            json!({ "transport": me.transport, "address": me.address, "groups": groups }),
        );
        for turn in 1..=3 {
            let next = PollingStrategy::next();
            let found = poll(client, Consumer::group(GROUP), 9, next, 10, true)
                .await
                .expect("turn");
            say_polled(&format!("turn {turn}"), &found);
        }
    }
    let found = client
        .get_consumer_group(&GetConsumerGroup {
            stream_id: stream_id(),
            topic_id: topic_id(),
            consumer_group_id: GROUP,
        })
        .await
        .expect("the group");
    let members: Vec<_> = found
        .members
        .iter()
        .map(|member| &member.partitions)
        .collect();
    say(
        "group",
        json!({ "partitions": found.partitions_count, "members": members }),
    );
    if connected {
        let leave = LeaveConsumerGroup {
            stream_id: stream_id(),
            topic_id: topic_id(),
            consumer_group_id: GROUP,
        };
        client
            .leave_consumer_group(&leave)
            .await
            .expect("no member");
    }
    let gone = DeleteConsumerGroup {
        stream_id: stream_id(),
        topic_id: topic_id(),
        consumer_group_id: GROUP,
    };
    client.delete_consumer_group(&gone).await.expect("no group");
    let left = GetConsumerGroups {
        stream_id: stream_id(),
        topic_id: topic_id(),
    };
    let left = client
        .get_consumer_groups(&left)
        .await
        .expect("groups")
        .len();
    say("groups", json!({ "left": left }));
}

async fn tell(client: &impl Client) {
    let stats = client.get_stats(&GetStats {}).await.expect("stats");
    say(
        "stats",
        json!({ "streams": stats.streams_count, "messages": stats.messages_count }),
    );
    let clients = client
        .get_clients(&GetClients {})
        .await
        .expect("clients")
        .len();
    say("clients", json!({ "count": clients }));
    let streams = client.get_streams(&GetStreams {}).await.expect("streams");
    let names: Vec<_> = streams.iter().map(|stream| &stream.name).collect();
    say("streams", json!({ "names": names }));
    let named = Identifier::named("orders").expect("a name");
    let topic = GetTopic {
        stream_id: stream(),
        topic_id: named,
    };
    let topic = client.get_topic(&topic).await.expect("the topic");
    let counts: Vec<_> = topic
        .partitions
        .iter()
        .map(|each| each.messages_count)
        .collect();
    say(
        "topic",
        json!({ "name": topic.name, "size": topic.size_bytes, "messages": counts }),
    );
    let topics = client
        .get_topics(&GetTopics {
            stream_id: stream(),
        })
        .await
        .expect("topics")
        .len();
    say("topics", json!({ "count": topics }));
}

async fn refusals(client: &impl Client) {
    say_error(
        "unknown partition",
        client.get_consumer_offset(&offset_of(READER, 77)).await,
    );
    let unknown = Identifier::numeric(999).expect("a number");
    say_error(
        "unknown stream",
        client.get_stream(&GetStream { stream_id: unknown }).await,
    );
    let again = CreateStream {
        stream_id: STREAM,
        name: "other".to_string(),
    };
    say_error("taken stream", client.create_stream(&again).await);
}

async fn remove(client: &impl Client) {
    let topic = DeleteTopic {
        stream_id: stream(),
        topic_id: topic_id(),
    };
    client.delete_topic(&topic).await.expect("no topic");
    let found = client
        .get_stream(&GetStream {
            stream_id: stream(),
        })
        .await
        .expect("the stream");
    say(
        "stream",
        json!({ "name": found.name, "topics": found.topics_count }),
    );
    client
        .delete_stream(&DeleteStream {
            stream_id: stream(),
        })
        .await
        .expect("no stream");
    let left = client
        .get_streams(&GetStreams {})
        .await
        .expect("streams")
        .len();
    say("streams left", json!({ "count": left }));
}

async fn put(client: &impl Client, partitioning: Partitioning, messages: Vec<Message>) {
    let mut request = SendMessages {
        stream_id: stream(),
        topic_id: topic_id(),
        partitioning,
        messages,
    };
    client
        .send_messages(&mut request)
        .await
        .expect("sent messages");
}

async fn poll(
    client: &impl Client,
    consumer: Consumer,
    partition_id: u32,
    strategy: PollingStrategy,
    count: u32,
    auto_commit: bool,
) -> Result<Vec<iggy::models::message::Message>, iggy::error::Error> {
    let request = PollMessages {
        consumer,
        stream_id: stream(),
        topic_id: topic_id(),
        partition_id,
        strategy,
        count,
        auto_commit,
    };
    client.poll_messages(&request).await
}

fn headers() -> Headers {
    let values = [
        ("k-raw", HeaderValue::from_raw(b"\0\xff\x10")),
        ("k-string", HeaderValue::from_str("value1")),
        ("k-bool", HeaderValue::from_bool(true)),
        ("k-int8", HeaderValue::from_int8(-5)),
        ("k-int16", HeaderValue::from_int16(-12345)),
        ("k-int32", HeaderValue::from_int32(-123_456)),
        ("k-int64", HeaderValue::from_int64(-1_234_567)),
        ("k-int128", HeaderValue::from_int128(-12_345_678)),
        ("k-uint8", HeaderValue::from_uint8(251)),
        ("k-uint16", HeaderValue::from_uint16(54321)),
        ("k-uint32", HeaderValue::from_uint32(4_000_000_000)),
        ("k-uint64", HeaderValue::from_uint64(123_456)),
        ("k-uint128", HeaderValue::from_uint128(1 << 100)),
        ("k-float32", HeaderValue::from_float32(123.01)),
        ("k-float64", HeaderValue::from_float64(1234.01234)),
    ];
    values
        .into_iter()
        .map(|(key, value)| (HeaderKey::new(key).expect("a key"), value.expect("a value")))
        .collect()
}

fn offset_of(consumer: u32, partition_id: u32) -> GetConsumerOffset {
    GetConsumerOffset {
        consumer: Consumer::new(consumer),
        stream_id: stream(),
        topic_id: topic_id(),
        partition_id,
    }
}

fn stream() -> Identifier {
    Identifier::numeric(STREAM).expect("a number")
}

fn topic_id() -> Identifier {
    Identifier::numeric(TOPIC).expect("a number")
}
