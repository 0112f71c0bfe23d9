//! The lock of pinned tools.

use crate::bounds::{Charged, bounded};
use crate::generate::{Choices, data};
use ptc_host::config::{PinLock, PinnedTool, ToolDefinition, UpstreamPins};
use ptc_mcp::json::json;
use std::collections::BTreeMap;
use std::path::Path;

/// Any text is a lock or an error that names the file and says what to do. A lock is written as one that reads the same, and of
/// tools that were pinned none differs.
pub fn pin_lock(data: &[u8]) {
    let read = |text: &str| {
        let path = Path::new("upstreams.lock");
        bounded("a lock", text.len(), || (PinLock::from_text(text, path), Charged::default()))
    };
    let lock = match std::str::from_utf8(data).ok().filter(|text| text.starts_with('{')) {
        None => made(&mut Choices::new(data)),
        Some(text) => match read(text) {
            Ok(lock) => lock,
            Err(error) => {
                let error = error.to_string();
                assert!(error.starts_with("the lock upstreams.lock"), "{error:?}");
                assert!(error.ends_with(": ptc pin") && !error.contains(char::is_control), "{error:?}");
                return;
            }
        },
    };
    let text = lock.text().expect("it is small");
    let again = read(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    assert_eq!(again, lock, "{text}");
    assert_eq!(again.text().as_ref(), Ok(&text), "it is written in one way");
    for tools in lock.upstreams.into_values() {
        let listed: Vec<PinnedTool> = tools.values().cloned().collect();
        let report = UpstreamPins { refuses: true, accepted: Some(tools) }.compare(&listed, |_| true);
        assert!(report.is_empty(), "{report:?}");
    }
}

/// A lock of tools with any texts.
fn made(choices: &mut Choices<'_>) -> PinLock {
    let file = choices.once_in(2).then(|| data::text(choices));
    let mut lock = PinLock { file, ..PinLock::default() };
    for _ in 0..choices.below(3) {
        let mut tools = BTreeMap::new();
        for _ in 0..choices.below(4) {
            let (name, title, description) = (data::text(choices), data::text(choices), data::text(choices));
            let schema =
                json!({"type": "object", "properties": {data::text(choices): {"default": choices.below(9)}}});
            let tool = PinnedTool::of(&ToolDefinition {
                name: &name,
                title: Some(title.as_str()).filter(|title| !title.is_empty()),
                description: &description,
                input_schema: &schema,
                output_schema: choices.once_in(2).then_some(&schema),
                annotations: None,
                operation: None,
            });
            tools.insert(name, tool);
        }
        lock.upstreams.insert(data::text(choices), tools);
    }
    lock
}
