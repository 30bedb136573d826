//! `list`.

use std::fmt::Write;

use super::console::Console;
use super::status::Status;
use super::{report, show};
use crate::Client;

pub(super) async fn list(console: &Console, client: &Client, json: bool) -> Status {
    let catalog = match client.list_tools().await {
        Ok(catalog) => catalog,
        Err(error) => {
            let (text, status) = report::call(&error, None);
            console.note(&text);
            return status;
        }
    };
    let mut text = String::new();
    if json {
        text = catalog.to_json();
        text.push('\n');
    } else {
        for tool in catalog.tools() {
            let _ = writeln!(text, "{}", show::tool(tool));
        }
        if catalog.is_empty() {
            console.note("the server has no tools");
        }
    }
    console.result(text).await.map_or_else(|status| status, |()| Status::Fine)
}
