//! Crate iggy 0.0.40, unchanged, as a program: it says as lines of JSON what the library told it.
//!
//!     iggy_crate tcp 127.0.0.1:8090 session
//!     iggy_crate http http://127.0.0.1:3000 poll
//!
//! `session` makes stream 1 with topic 1, goes through everything a client can do, and deletes
//! them again. `poll` reads partition 1 of topic 1 of stream 1 from the start. Large numbers are
//! strings.

mod said;
mod session;

use iggy::client::Client;
use iggy::http::client::HttpClient;
use iggy::tcp::client::TcpClient;

#[tokio::main]
async fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [transport, address, verb] = words.as_slice() else {
        panic!("expected: tcp|http ADDRESS session|poll");
    };
    match transport.as_str() {
        "tcp" => {
            let mut client = TcpClient::new(address).expect("an address");
            client.connect().await.expect("a server");
            run(&client, verb, true).await;
        }
        "http" => run(&HttpClient::new(address).expect("a URL"), verb, false).await,
        other => panic!("no transport is called {other}"),
    }
}

async fn run(client: &impl Client, verb: &str, connected: bool) {
    match verb {
        "session" => session::whole(client, connected).await,
        "poll" => session::poll_all(client).await,
        other => panic!("no verb is called {other}"),
    }
    said::say("done", serde_json::json!({}));
}
