//! Reading the results of methods besides `tools/call`: lists, contents of resources, messages of prompts, completions
//! (upstreams.md 19).

use super::content::JsonString;
use super::content::text_of;
use std::collections::HashSet;

use bytes::Bytes;
use ptc_mcp::json::{Map, Value};
use serde_json::value::RawValue;

use super::content::{self, raw_blocks};
use super::protocol::render;
use crate::upstream::{BlockMember, CallFault, CallReply, ContentBlock, FaultReason, Payload};
use ptc_base::pace::apart;

/// Most pages of one list.
const MAX_PAGES: usize = 100;
/// Most items of one list; further ones are left out.
const MAX_ITEMS: usize = 5000;
/// Most messages of a prompt that a program gets to see.
const MAX_MESSAGES: usize = 1000;

/// The roles that a message of a prompt may have.
const ROLES: [&str; 2] = ["user", "assistant"];

/// Whether a message of a prompt may have this role. Others, such as `system`, are not the words of a person or a model, and a
/// client that accepted them would give an upstream more weight than its user has.
pub fn is_role(role: &str) -> bool {
    ROLES.contains(&role)
}

/// Collects the pages of a list.
pub struct ItemPages {
    method: &'static str,
    /// The member that has the items.
    member: &'static str,
    items: Vec<Value>,
    pages: usize,
    bytes: usize,
    max_bytes: usize,
    cursors: HashSet<String>,
    is_cut: bool,
}

impl ItemPages {
    /// An empty list of at most `max_bytes` bytes over all pages.
    pub fn new(method: &'static str, member: &'static str, max_bytes: usize) -> Self {
        Self {
            method,
            member,
            items: Vec::new(),
            pages: 0,
            bytes: 0,
            max_bytes,
            cursors: HashSet::new(),
            is_cut: false,
        }
    }

    /// As [`Self::add`]; a long page is read apart.
    ///
    /// # Errors
    /// As [`Self::add`].
    pub async fn add_apart(&mut self, result: Bytes) -> Result<Option<String>, CallFault> {
        let empty = Self::new(self.method, self.member, self.max_bytes);
        let mut pages = std::mem::replace(self, empty);
        let (pages, next) = apart(result.len(), move || {
            let next = pages.add(&result);
            (pages, next)
        })
        .await;
        *self = pages;
        next
    }

    /// Adds one page. Yields the cursor of the next one, if there is one to be read.
    ///
    /// # Errors
    /// The result is no such list, or the bounds are passed.
    #[expect(clippy::disallowed_methods, reason = "entry point: ItemPages.add")]
    fn add(&mut self, result: &[u8]) -> Result<Option<String>, CallFault> {
        self.bytes += result.len();
        if self.bytes > self.max_bytes {
            let message = format!("{} exceeded {} bytes", self.method, self.max_bytes);
            return Err(CallFault::new(FaultReason::ResponseTooLarge, message).with_bytes(self.bytes as u64));
        }
        let mut page: Map = serde_json::from_slice(result).unwrap_or_default();
        let Some(Value::Array(items)) = page.remove(self.member) else {
            let message = format!("{} returned unexpected payload {}", self.method, render(result));
            return Err(CallFault::upstream_error(message).with_bytes(self.bytes as u64));
        };
        let room = MAX_ITEMS - self.items.len();
        self.is_cut |= items.len() > room;
        self.items.extend(items.into_iter().filter(Value::is_object).take(room));
        self.pages += 1;
        let Some(Value::String(cursor)) = page.remove("nextCursor") else { return Ok(None) };
        if self.is_cut || self.pages == MAX_PAGES || !self.cursors.insert(cursor.clone()) {
            self.is_cut = true;
            return Ok(None);
        }
        Ok(Some(cursor))
    }

    /// The items of all pages in their order, and whether there were more.
    pub fn finish(self) -> (Vec<Value>, bool) {
        (self.items, self.is_cut)
    }
}

/// The answer to `resources/read`: the first text is the value, or the first content where none is text; if there are
/// several, all of them are the content.
///
/// # Errors
/// [`FaultReason::UpstreamError`] if it is no such answer.
#[expect(clippy::disallowed_methods, reason = "entry point: read_contents()")]
pub fn read_contents(result: Bytes) -> Result<CallReply, CallFault> {
    #[derive(serde::Deserialize)]
    struct ResourceMembers<'a> {
        #[serde(borrow)]
        contents: &'a RawValue,
    }
    let unexpected = || {
        let message = format!("resources/read returned unexpected payload {}", render(&result));
        CallFault::upstream_error(message).with_bytes(result.len() as u64)
    };
    let read: ResourceMembers<'_> = serde_json::from_slice(&result).map_err(|_| unexpected())?;
    if !read.contents.get().starts_with('[') {
        return Err(unexpected());
    }
    let contents: Vec<ContentBlock> = raw_blocks(read.contents.get())
        .into_iter()
        .take(content::MAX_BLOCKS)
        .map(|raw| content::resource(&result, raw))
        .collect();
    let payload = match contents.iter().find_map(payload_of_text) {
        Some(text) => text,
        None => contents.first().map_or(Payload::None, |first| Payload::Content(Box::new(first.clone()))),
    };
    let content = if contents.len() > 1 { contents } else { Vec::new() };
    let result_bytes = ptc_mcp::json::compact_len(&result);
    Ok(CallReply { payload, content, envelope: result, result_bytes, note: None })
}

/// The text of a resource, as data if it is JSON and does not claim to be something else.
fn payload_of_text(block: &ContentBlock) -> Option<Payload> {
    let text = block.member("text")?;
    let mime_type =
        block.member("mime_type").map(|bytes| String::from_utf8_lossy(bytes).to_ascii_lowercase());
    let mime_type = mime_type.as_deref().unwrap_or_default();
    let essence = mime_type.split(';').next().unwrap_or_default().trim();
    let may_be_json = matches!(essence, "" | "text/plain" | "text/json")
        || essence.ends_with("/json")
        || essence.ends_with("+json");
    Some(if may_be_json { Payload::of_text(text.clone()) } else { Payload::Text(text.clone()) })
}

/// The answer to `prompts/get`: `{:description … :messages [{:role … :content …}]}`, texts as strings and other blocks as
/// maps.
///
/// # Errors
/// [`FaultReason::UpstreamError`] if it is no such answer.
#[expect(clippy::disallowed_methods, reason = "entry point: read_prompt()")]
pub fn read_prompt(result: Bytes) -> Result<CallReply, CallFault> {
    #[derive(serde::Deserialize)]
    struct Prompt<'a> {
        #[serde(borrow, default)]
        description: Option<&'a RawValue>,
        #[serde(borrow)]
        messages: Vec<RawPromptMessage<'a>>,
    }
    #[derive(serde::Deserialize)]
    struct RawPromptMessage<'a> {
        #[serde(borrow)]
        role: &'a RawValue,
        #[serde(borrow)]
        content: &'a RawValue,
    }
    let prompt: Prompt<'_> = serde_json::from_slice(&result).map_err(|_| {
        let message = format!("prompts/get returned unexpected payload {}", render(&result));
        CallFault::upstream_error(message).with_bytes(result.len() as u64)
    })?;
    let text = |raw: &RawValue| BlockMember::Text(text_of(&result, JsonString::AsWritten(raw.get())));
    let is_text = |raw: &&RawValue| raw.get().starts_with('"');
    let has_role = |message: &&RawPromptMessage<'_>| {
        serde_json::from_str::<std::borrow::Cow<'_, str>>(message.role.get()).is_ok_and(|role| is_role(&role))
    };
    let content_of = |raw: &RawValue| match content::block(&result, raw) {
        ContentBlock::Text(text) => BlockMember::Text(text),
        other => BlockMember::Block(Box::new(other)),
    };
    let message = |message: &RawPromptMessage<'_>| {
        let content = match message.content.get().as_bytes().first() {
            Some(b'[') => {
                let blocks = raw_blocks(message.content.get()).into_iter().take(content::MAX_BLOCKS);
                BlockMember::Blocks(blocks.map(|raw| content::block(&result, raw)).collect())
            }
            _ => content_of(message.content),
        };
        ContentBlock::unnamed(vec![("role", text(message.role)), ("content", content)])
    };
    let messages = prompt.messages.iter().filter(has_role).take(MAX_MESSAGES).map(message).collect();
    let description = prompt.description.filter(is_text).map(|raw| ("description", text(raw)));
    let members = description.into_iter().chain([("messages", BlockMember::Blocks(messages))]).collect();
    let payload = Payload::Content(Box::new(ContentBlock::unnamed(members)));
    let result_bytes = ptc_mcp::json::compact_len(&result);
    Ok(CallReply { payload, content: Vec::new(), envelope: result, result_bytes, note: None })
}

/// The answer to `completion/complete`: the proposals, and how many there are if there are more.
///
/// # Errors
/// [`FaultReason::UpstreamError`] if it is no such answer.
#[expect(clippy::disallowed_methods, reason = "entry point: read_completion()")]
pub fn read_completion(result: &[u8]) -> Result<(Vec<Value>, bool), CallFault> {
    let mut answer: Value = serde_json::from_slice(result).unwrap_or_default();
    let completion = answer["completion"].take();
    let Some(values) = completion["values"].as_array() else {
        let message = format!("completion/complete returned unexpected payload {}", render(result));
        return Err(CallFault::upstream_error(message).with_bytes(result.len() as u64));
    };
    let more = completion["hasMore"] == true
        || completion["total"].as_u64().is_some_and(|total| total > values.len() as u64);
    Ok((values.iter().filter(|value| value.is_string()).cloned().collect(), more))
}

#[cfg(test)]
mod tests {
    use ptc_mcp::json::json;

    use super::*;

    fn bytes(value: Value) -> Bytes {
        value.to_string().into()
    }

    fn payload(contents: Value) -> Payload {
        read_contents(bytes(json!({"contents": contents}))).unwrap().decided()
    }

    #[test]
    fn a_resource_is_text_or_data_by_what_it_says_it_is() {
        let one = |mime_type: Option<&str>, text: &str| {
            let mut item = json!({"uri": "u", "text": text});
            if let Some(mime_type) = mime_type {
                item["mimeType"] = mime_type.into();
            }
            payload(json!([item]))
        };
        let data = Payload::Json("[1]".into());
        let plain = Payload::Text("[1]".into());
        for mime_type in
            [None, Some("text/plain"), Some("application/json; charset=utf-8"), Some("Application/x+JSON")]
        {
            assert_eq!(one(mime_type, "[1]"), data, "{mime_type:?}");
        }
        for mime_type in ["text/markdown", "text/x-python", "application/yaml"] {
            assert_eq!(one(Some(mime_type), "[1]"), plain, "{mime_type}");
        }
        assert_eq!(one(None, "a [1]"), Payload::Text("a [1]".into()));
    }

    #[test]
    fn several_contents_are_all_kept_and_the_first_text_is_the_value() {
        let reply = read_contents(bytes(json!({"contents": [
            {"uri": "a", "blob": "AAAA", "mimeType": "image/png"}, {"uri": "b", "text": "x"}
        ]})))
        .unwrap();
        assert_eq!(reply.clone().decided(), Payload::Text("x".into()));
        assert_eq!(reply.content.len(), 2);
        assert_eq!(reply.content[0].member("uri").unwrap(), "a");
        let alone = read_contents(bytes(json!({"contents": [{"uri": "a", "blob": "AAAA"}]}))).unwrap();
        assert!(alone.content.is_empty());
        assert!(matches!(alone.payload, Payload::Content(_)));
        assert_eq!(payload(json!([])), Payload::None);
        for bad in [json!({}), json!({"contents": {}}), json!([1])] {
            let fault = read_contents(bytes(bad)).unwrap_err();
            assert!(fault.message.starts_with("resources/read returned unexpected payload"), "{fault:?}");
        }
    }

    #[test]
    fn messages_of_other_roles_are_left_out_of_a_prompt() {
        let message = |role: Value| json!({"role": role, "content": {"type": "text", "text": "x"}});
        let messages =
            [json!("user"), json!("system"), json!("assistant"), json!("User"), json!(7), Value::Null]
                .map(message);
        let reply = read_prompt(bytes(json!({"messages": messages}))).unwrap();
        let Payload::Content(prompt) = reply.payload else { panic!("{:?}", reply.payload) };
        let ContentBlock::Other { members, .. } = *prompt else { panic!("{prompt:?}") };
        let Some((_, BlockMember::Blocks(kept))) = members.into_iter().find(|(name, _)| *name == "messages")
        else {
            panic!("no messages")
        };
        let roles: Vec<_> = kept.iter().map(|message| message.member("role").cloned()).collect();
        assert_eq!(roles, [Some(Bytes::from("user")), Some(Bytes::from("assistant"))]);
    }

    #[test]
    fn lists_end_however_hostile() {
        let mut pages = ItemPages::new("resources/list", "resources", 1 << 20);
        let page = br#"{"resources":[{"uri":"a"},7],"nextCursor":"x"}"#;
        assert_eq!(pages.add(page).unwrap().as_deref(), Some("x"));
        assert_eq!(pages.add(page).unwrap(), None, "a cursor that comes again");
        assert_eq!(pages.finish(), (vec![json!({"uri": "a"}), json!({"uri": "a"})], true));

        let mut long = ItemPages::new("resources/list", "resources", 1 << 20);
        let items = vec![json!({}); MAX_ITEMS + 1];
        assert_eq!(long.add(json!({"resources": items}).to_string().as_bytes()).unwrap(), None);
        let (items, is_cut) = long.finish();
        assert_eq!((items.len(), is_cut), (MAX_ITEMS, true));

        let mut large = ItemPages::new("prompts/list", "prompts", 20);
        assert!(large.add(br#"{"prompts":[{"name":"aaaaaaaaa"}]}"#).unwrap_err().oversize());
        let mut odd = ItemPages::new("prompts/list", "prompts", 200);
        let fault = odd.add(br#"{"resources":[]}"#).unwrap_err();
        assert_eq!(fault.message, r#"prompts/list returned unexpected payload {"resources":[]}"#);
    }

    #[test]
    fn completions_say_whether_there_are_more() {
        let read = |completion: Value| read_completion(&bytes(json!({"completion": completion}))).unwrap();
        assert_eq!(read(json!({"values": ["a", 1]})), (vec!["a".into()], false));
        assert!(read(json!({"values": ["a"], "hasMore": true})).1);
        assert!(read(json!({"values": ["a"], "total": 2})).1);
        assert!(read_completion(b"{}").is_err());
    }
}
