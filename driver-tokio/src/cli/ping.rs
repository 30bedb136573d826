//! `ping`.

use serde_json::json;

use super::console::Console;
use super::status::Status;
use super::{report, show, text};
use crate::Client;

pub(super) async fn ping(console: &Console, client: &Client, json: bool) -> Status {
    let elapsed = match client.ping().await {
        Ok(elapsed) => elapsed,
        Err(error) => {
            let (text, status) = report::call(&error, None);
            console.note(&text);
            return status;
        }
    };
    let ms = text::millis(elapsed);
    let text = if json {
        let version = client.version().map(|version| version.as_str()).unwrap_or_default();
        let info = client.server_info();
        let (name, its_version) = info.as_ref().map_or(("", ""), |info| (&info.name, &info.version));
        let server = json!({ "name": name, "version": its_version });
        format!("{}\n", json!({ "version": version, "server": server, "ms": ms }))
    } else {
        format!("{}, round trip {ms:.1} ms\n", show::server(client))
    };
    console.result(text).await.map_or_else(|status| status, |()| Status::Fine)
}
