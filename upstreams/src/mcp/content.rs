//! The blocks of an answer's `content` (ruling 51).

use bytes::Bytes;
use memchr::memchr;
use ptc_mcp::json::Raw;
use ptc_mcp::text::clip;
use ptc_vm::value::decoded_len;
use serde_json::value::RawValue;
use std::borrow::Cow;

use crate::upstream::{BlockMember, CallFault, CallLimits, ContentBlock, FaultReason};

/// Blocks of one answer that a program gets to see.
pub(super) const MAX_BLOCKS: usize = 10_000;
/// Longest name of a kind, in characters.
const MAX_KIND: usize = 64;

/// Whether an answer keeps its limits: binary content has a limit of its own.
///
/// # Errors
/// [`FaultReason::ResponseTooLarge`]
pub(super) fn check_size(result: &Bytes, limits: &CallLimits, transport: &str) -> Result<(), CallFault> {
    if result.len() <= limits.max_bytes {
        return Ok(());
    }
    let binary = binary_len(result);
    let message = if result.len() - binary > limits.max_bytes {
        format!("{transport} response exceeded {} bytes", limits.max_bytes)
    } else if binary > limits.binary_bytes {
        let most = limits.binary_bytes / 4 * 3;
        format!("{transport} response exceeded {most} bytes of binary content (flag `--max-attached-bytes`)")
    } else {
        return Ok(());
    };
    Err(CallFault::new(FaultReason::ResponseTooLarge, message).with_bytes(result.len() as u64))
}

/// Characters of binary content in an answer: in the blocks of a tool, the contents of a resource, the messages of a
/// prompt.
#[expect(clippy::disallowed_methods, reason = "entry point: binary_len()")]
fn binary_len(result: &[u8]) -> usize {
    #[derive(serde::Deserialize, Default)]
    #[serde(default)]
    struct ContentMembers<'a> {
        #[serde(borrow)]
        content: Option<&'a RawValue>,
        #[serde(borrow)]
        contents: Option<&'a RawValue>,
        #[serde(borrow)]
        messages: Option<&'a RawValue>,
    }
    #[derive(serde::Deserialize)]
    struct PromptMessage<'a> {
        #[serde(borrow)]
        content: &'a RawValue,
    }
    let answer: ContentMembers<'_> = serde_json::from_slice(result).unwrap_or_default();
    let blocks =
        [answer.content, answer.contents].into_iter().flatten().flat_map(|raw| raw_blocks(raw.get()));
    let messages = answer.messages.into_iter().flat_map(|raw| raw_blocks(raw.get()));
    let of_messages = messages.filter_map(|raw| serde_json::from_str::<PromptMessage<'_>>(raw.get()).ok());
    let of_messages = of_messages.flat_map(|message| match message.content.get().starts_with('[') {
        true => raw_blocks(message.content.get()),
        false => vec![message.content],
    });
    blocks.chain(of_messages).map(binary_of_block).sum()
}

#[expect(clippy::disallowed_methods, reason = "entry point: binary_of_block()")]
fn binary_of_block(raw: &RawValue) -> usize {
    let Ok(block) = serde_json::from_str::<VisibleMembers<'_>>(raw.get()) else { return 0 };
    let inner = block.resource.map_or(0, binary_of_resource);
    let own = [block.data, block.blob].into_iter().flatten();
    own.map(characters).sum::<usize>() + inner
}

#[expect(clippy::disallowed_methods, reason = "entry point: binary_of_resource()")]
fn binary_of_resource(raw: &RawValue) -> usize {
    let resource = serde_json::from_str::<VisibleMembers<'_>>(raw.get()).ok();
    resource.and_then(|resource| resource.blob).map_or(0, characters)
}

/// Bytes between the quotes of a string.
fn characters(raw: &RawValue) -> usize {
    raw.get().len().saturating_sub(2)
}

/// The blocks as written; none where `content` is no list.
#[expect(clippy::disallowed_methods, reason = "entry point: raw_blocks()")]
pub(super) fn raw_blocks(content: &str) -> Vec<&RawValue> {
    serde_json::from_str(content).unwrap_or_default()
}

/// The `text` of a text block, as a JSON string.
#[expect(clippy::disallowed_methods, reason = "entry point: text_of_block()")]
pub(super) fn text_of_block(block: &RawValue) -> Option<&str> {
    #[derive(serde::Deserialize)]
    struct TextBlock<'a> {
        #[serde(borrow, rename = "type")]
        kind: &'a RawValue,
        #[serde(borrow)]
        text: &'a RawValue,
    }
    let block: TextBlock<'_> = serde_json::from_str(block.get()).ok()?;
    (block.kind.get() == "\"text\"" && block.text.get().starts_with('"')).then_some(block.text.get())
}

/// All blocks of a result.
#[expect(clippy::disallowed_methods, reason = "entry point: blocks()")]
pub(super) fn blocks(result: &Bytes) -> Vec<ContentBlock> {
    #[derive(serde::Deserialize)]
    struct Content<'a> {
        #[serde(borrow)]
        content: &'a RawValue,
    }
    let Ok(result_members) = serde_json::from_slice::<Content<'_>>(result) else { return Vec::new() };
    raw_blocks(result_members.content.get())
        .into_iter()
        .take(MAX_BLOCKS)
        .map(|raw| block(result, raw))
        .collect()
}

/// One block, in the names of programs.
#[expect(clippy::disallowed_methods, reason = "entry point: block()")]
pub(super) fn block(result: &Bytes, raw: &RawValue) -> ContentBlock {
    if let Some(text) = text_of_block(raw) {
        return ContentBlock::Text(text_of(result, JsonString::AsWritten(text)));
    }
    let Ok(block) = serde_json::from_str::<VisibleMembers<'_>>(raw.get()) else {
        return ContentBlock::Other { kind: "unknown".to_owned(), members: Vec::new() };
    };
    let kind = block.kind.and_then(|kind| string(result, kind));
    let kind =
        kind.map_or_else(|| "unknown".to_owned(), |kind| clip(&String::from_utf8_lossy(&kind), MAX_KIND));
    let mut members = Vec::new();
    block.describe(result, &mut members);
    // An embedded resource has all that there is to know one level below.
    if let Some(resource) =
        block.resource.and_then(|raw| serde_json::from_str::<VisibleMembers<'_>>(raw.get()).ok())
    {
        resource.describe(result, &mut members);
    }
    ContentBlock::Other { kind, members }
}

/// One of the contents of a resource, which has no block around it.
#[expect(clippy::disallowed_methods, reason = "entry point: resource()")]
pub(super) fn resource(result: &Bytes, raw: &RawValue) -> ContentBlock {
    let mut members = Vec::new();
    if let Ok(resource) = serde_json::from_str::<VisibleMembers<'_>>(raw.get()) {
        resource.describe(result, &mut members);
    }
    ContentBlock::Other { kind: "resource".to_owned(), members }
}

/// The members of a block, or of the resource within one, that programs get to see.
#[derive(serde::Deserialize)]
struct VisibleMembers<'a> {
    #[serde(borrow, default, rename = "type")]
    kind: Option<&'a RawValue>,
    #[serde(borrow, default)]
    data: Option<&'a RawValue>,
    #[serde(borrow, default)]
    blob: Option<&'a RawValue>,
    #[serde(borrow, default)]
    text: Option<&'a RawValue>,
    #[serde(borrow, default)]
    uri: Option<&'a RawValue>,
    #[serde(borrow, default)]
    name: Option<&'a RawValue>,
    #[serde(borrow, default)]
    title: Option<&'a RawValue>,
    #[serde(borrow, default)]
    description: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "mimeType")]
    mime_type: Option<&'a RawValue>,
    #[serde(borrow, default)]
    size: Option<&'a RawValue>,
    #[serde(borrow, default)]
    resource: Option<&'a RawValue>,
}

impl VisibleMembers<'_> {
    fn describe(&self, result: &Bytes, members: &mut Vec<(&'static str, BlockMember)>) {
        let texts = [
            ("uri", self.uri),
            ("name", self.name),
            ("title", self.title),
            ("description", self.description),
            ("mime_type", self.mime_type),
            ("text", self.text),
        ];
        for (name, raw) in texts {
            if let Some(text) = raw.and_then(|raw| string(result, raw)) {
                members.push((name, BlockMember::Text(text)));
            }
        }
        let size = self.size.and_then(|size| size.get().parse().ok());
        let encoded = [self.data, self.blob].into_iter().flatten().find_map(|raw| string(result, raw));
        if let Some(bytes) = encoded.as_deref().map(decoded_len).or(size) {
            members.push(("bytes", BlockMember::Count(bytes)));
        }
        if let Some(encoded) = encoded {
            members.push(("ref", BlockMember::Binary(encoded)));
        }
    }
}

/// The characters of a member that is a string.
fn string(result: &Bytes, raw: &RawValue) -> Option<Bytes> {
    raw.get().starts_with('"').then(|| text_of(result, JsonString::AsWritten(raw.get())))
}

/// A JSON string of a reply.
#[derive(Clone, Copy)]
pub(super) enum JsonString<'a> {
    /// It denotes text, which is at hand if it has escapes.
    Checked(Raw<'a>, Option<&'a Bytes>),
    /// Half a surrogate pair may be in it.
    AsWritten(&'a str),
}

/// The characters of a JSON string: a slice of the reply when it has no escapes.
#[expect(clippy::disallowed_methods, reason = "entry point: text_of()")]
pub(super) fn text_of(reply: &Bytes, text: JsonString<'_>) -> Bytes {
    let quoted = match text {
        JsonString::Checked(_, Some(decoded)) => return decoded.clone(),
        JsonString::Checked(raw, None) => match raw.as_str() {
            Some(Cow::Owned(text)) => return Bytes::from(text),
            Some(Cow::Borrowed(text)) => return reply.slice_ref(text.as_bytes()),
            None => raw.text(),
        },
        JsonString::AsWritten(quoted) => quoted,
    };
    let inner = quoted.as_bytes().get(1..quoted.len().saturating_sub(1)).unwrap_or_default();
    if memchr(b'\\', inner).is_none() {
        return reply.slice_ref(inner);
    }
    // A lone surrogate is the only thing that can be wrong with a string that parsed as JSON.
    match serde_json::from_str::<String>(quoted) {
        Ok(text) => Bytes::from(text),
        Err(_) => Bytes::from(lossy_unescape(inner)),
    }
}

/// Decodes escapes with `U+FFFD` for surrogates that stand alone.
pub(super) fn lossy_unescape(inner: &[u8]) -> Vec<u8> {
    let mut units: Vec<u16> = Vec::with_capacity(inner.len());
    let text = String::from_utf8_lossy(inner);
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            units.extend_from_slice(c.encode_utf16(&mut [0; 2]));
            continue;
        }
        units.push(match chars.next() {
            Some('b') => 8,
            Some('t') => 9,
            Some('n') => 10,
            Some('f') => 12,
            Some('r') => 13,
            Some('u') => {
                let hex: String = chars.by_ref().take(4).collect();
                u16::from_str_radix(&hex, 16).unwrap_or(0xFFFD)
            }
            Some(other) => other as u16,
            None => break,
        });
    }
    String::from_utf16_lossy(&units).into_bytes()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use ptc_mcp::json::json;

    use super::*;

    #[test]
    fn binary_content_has_a_limit_of_its_own() {
        let limits = CallLimits { binary_bytes: 4000, ..CallLimits::within(Duration::ZERO, 500) };
        let check = |answer: ptc_mcp::json::Value| {
            check_size(&answer.to_string().into(), &limits, "mcp_stdio").map_err(|fault| fault.message)
        };
        let (fits, large, text) = ("A".repeat(3900), "A".repeat(4100), "x".repeat(600));
        let image = |data: &str| json!({"type": "image", "data": data, "mimeType": "image/png"});
        let embedded = |blob: &str| json!({"type": "resource", "resource": {"uri": "u", "blob": blob}});
        for fine in [
            json!({"content": [image(&fits)]}),
            json!({"content": [embedded(&fits)]}),
            json!({"contents": [{"uri": "u", "blob": fits}]}),
            json!({"messages": [{"role": "user", "content": image(&fits)}]}),
            json!({"messages": [{"role": "user", "content": [embedded(&fits)]}]}),
        ] {
            assert_eq!(check(fine.clone()), Ok(()), "{fine}");
        }
        let binary = "mcp_stdio response exceeded 3000 bytes of binary content (flag `--max-attached-bytes`)";
        assert_eq!(check(json!({"content": [image(&large)]})).unwrap_err(), binary);
        let plain = "mcp_stdio response exceeded 500 bytes";
        assert_eq!(
            check(json!({"content": [image(&fits), {"type": "text", "text": text}]})).unwrap_err(),
            plain
        );
        // Data elsewhere is no binary content, whatever it is called.
        assert_eq!(check(json!({"structuredContent": {"data": fits}})).unwrap_err(), plain);
    }
}
