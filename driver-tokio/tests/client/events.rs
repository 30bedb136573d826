//! Events.

use sans_mcp_tokio::{Client, Event, State};

use crate::support::{docs, everywhere};

#[test]
fn l32_events_tell_the_life_of_a_session_and_end_with_it() {
    everywhere(async || {
        let mut builder = Client::builder(docs());
        let mut events = builder.events();
        let client = builder.connect().await.unwrap();
        client.close().await;
        let mut states = Vec::new();
        while let Some(event) = events.next().await {
            match event {
                Event::State(state) => states.push(state),
                Event::Closed(end) => assert!(end.gone()),
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(states, [State::Connecting, State::Ready, State::Closing, State::Closed]);
        assert!(matches!(client.events().next().await, Some(Event::Closed(_))));
    });
}
