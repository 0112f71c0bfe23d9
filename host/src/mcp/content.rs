//! The blocks of an answer's `content` (ruling 51).

use bytes::Bytes;
use ptc_mcp::text::clip;
use ptc_vm::value::decoded_len;
use serde_json::value::RawValue;

use super::result::{Text, text_of};
use crate::upstream::{BlockMember, ReplyBlock};

/// Blocks of one answer that a program gets to see.
pub(super) const MAX_BLOCKS: usize = 10_000;
/// Longest name of a kind, in characters.
const MAX_KIND: usize = 64;

/// The blocks as written; none where `content` is no list.
pub(super) fn raw_blocks(content: &str) -> Vec<&RawValue> {
    serde_json::from_str(content).unwrap_or_default()
}

/// The `text` of a text block, as a JSON string.
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
pub(super) fn blocks(result: &Bytes) -> Vec<ReplyBlock> {
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
pub(super) fn block(result: &Bytes, raw: &RawValue) -> ReplyBlock {
    if let Some(text) = text_of_block(raw) {
        return ReplyBlock::Text(text_of(result, Text::AsWritten(text)));
    }
    let Ok(block) = serde_json::from_str::<Members<'_>>(raw.get()) else {
        return ReplyBlock::Other { kind: "unknown".to_owned(), members: Vec::new() };
    };
    let kind = block.kind.and_then(|kind| string(result, kind));
    let kind =
        kind.map_or_else(|| "unknown".to_owned(), |kind| clip(&String::from_utf8_lossy(&kind), MAX_KIND));
    let mut members = Vec::new();
    block.describe(result, &mut members);
    // An embedded resource has all that there is to know one level below.
    if let Some(resource) = block.resource.and_then(|raw| serde_json::from_str::<Members<'_>>(raw.get()).ok())
    {
        resource.describe(result, &mut members);
    }
    ReplyBlock::Other { kind, members }
}

/// One of the contents of a resource, which has no block around it.
pub(super) fn resource(result: &Bytes, raw: &RawValue) -> ReplyBlock {
    let mut members = Vec::new();
    if let Ok(resource) = serde_json::from_str::<Members<'_>>(raw.get()) {
        resource.describe(result, &mut members);
    }
    ReplyBlock::Other { kind: "resource".to_owned(), members }
}

/// The members of a block, or of the resource within one, that programs get to see.
#[derive(serde::Deserialize)]
struct Members<'a> {
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

impl Members<'_> {
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
    raw.get().starts_with('"').then(|| text_of(result, Text::AsWritten(raw.get())))
}
