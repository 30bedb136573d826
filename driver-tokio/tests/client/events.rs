//! Events.

use sans_mcp_tokio::{Client, Event};

use crate::support::{docs, everywhere};

#[test]
fn l32_who_listens_too_late_is_told_of_the_end() {
    everywhere(async || {
        let client = Client::connect(docs()).await.unwrap();
        client.close().await;
        let mut events = client.events();
        assert!(matches!(events.next().await, Some(Event::Closed(_))));
        assert!(events.next().await.is_none());
    });
}
