//! The bare machine under tokio.

use std::time::Duration;

use sans_mcp::Output;
use sans_mcp_tokio::{Connection, State};
use tokio::time::timeout;

use crate::support::{docs, everywhere, exists};

#[test]
fn a_connection_hands_out_every_output_and_loses_none_when_it_is_not_awaited() {
    everywhere(async || {
        let mut connection = Connection::<&str>::new(docs()).unwrap();
        let now = connection.now();
        connection.session_mut().connect(now, "connect").unwrap();
        let mut states = Vec::new();
        let connected = connection.next(|output| match output {
            Output::State(state) => {
                states.push(state);
                None
            }
            Output::Complete(done) => Some(done.outcome.map(|_| done.token).unwrap()),
            _ => None,
        });
        assert_eq!(connected.await, Some("connect"));
        assert_eq!(states, [State::Connecting, State::Ready]);

        let now = connection.now();
        for token in ["first", "second"] {
            connection.session_mut().ping(now, None, token).unwrap();
        }
        for expected in ["first", "second"] {
            let completed = async {
                loop {
                    // Dropped again and again while it waits.
                    let next = connection.next(|output| match output {
                        Output::Complete(done) => Some(done.token),
                        _ => None,
                    });
                    if let Ok(token) = timeout(Duration::from_micros(10), next).await {
                        return token;
                    }
                }
            };
            assert_eq!(completed.await, Some(expected));
        }

        let now = connection.now();
        connection.session_mut().close(now);
        let end = connection.next(|output| match output {
            Output::Closed(end) => Some(end.clone()),
            _ => None,
        });
        assert!(end.await.unwrap().gone());
        assert_eq!(connection.next(|_| None::<()>).await, None);
    });
}

#[test]
fn l18_dropping_a_connection_leaves_no_process() {
    everywhere(async || {
        let mut connection = Connection::<()>::new(docs()).unwrap();
        let now = connection.now();
        connection.session_mut().connect(now, ()).unwrap();
        let connected = connection.next(|output| match output {
            Output::Complete(done) => Some(done.outcome.is_ok()),
            _ => None,
        });
        assert_eq!(connected.await, Some(true));
        let process = connection.process_id().unwrap();
        assert!(exists(process));
        drop(connection);
        assert!(!exists(process));
    });
}
