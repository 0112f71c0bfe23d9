//! Binary content as the blocks of a result.

use ptc_mcp::json::write_string;
use ptc_vm::value::BlobContent;

/// The length of a block besides the content and its origin, at most.
const FRAME: usize = 128;

/// The approximate size of a block, in bytes.
pub(super) fn len_hint(content: &BlobContent) -> usize {
    content.base64.len() + content.mime_type.len() + content.uri.len() + FRAME
}

/// Writes `,{…}`: a block after others. Content that is neither an image nor audio is an embedded resource, which
/// needs a URI.
pub(super) fn write(content: &BlobContent, out: &mut Vec<u8>) {
    let is_resource = content.kind == "resource";
    out.extend_from_slice(b",{\"type\":\"");
    out.extend_from_slice(content.kind.as_bytes());
    out.extend_from_slice(b"\",");
    if is_resource {
        out.extend_from_slice(b"\"resource\":{\"uri\":");
        write_string(out, if content.uri.is_empty() { "about:blank" } else { &content.uri });
        out.push(b',');
    }
    out.extend_from_slice(b"\"mimeType\":");
    write_string(out, &content.mime_type);
    out.extend_from_slice(if is_resource { b",\"blob\":\"" } else { b",\"data\":\"" });
    // Base64 has nothing to escape.
    out.extend_from_slice(content.base64.as_bytes());
    out.push(b'"');
    if is_resource {
        out.push(b'}');
    }
    out.push(b'}');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_those_of_the_protocol() {
        let block = |kind, uri: &str| {
            let content = BlobContent {
                kind,
                mime_type: "a/b; c=\"d\"".into(),
                uri: uri.into(),
                base64: "AAAA".into(),
            };
            let mut out = Vec::new();
            write(&content, &mut out);
            assert!(out.len() <= len_hint(&content));
            String::from_utf8(out).unwrap()
        };
        let mime_type = r#""mimeType":"a/b; c=\"d\"""#;
        assert_eq!(block("image", "u"), format!(r#",{{"type":"image",{mime_type},"data":"AAAA"}}"#));
        assert_eq!(block("audio", ""), format!(r#",{{"type":"audio",{mime_type},"data":"AAAA"}}"#));
        assert_eq!(
            block("resource", "x:\"y"),
            format!(r#",{{"type":"resource","resource":{{"uri":"x:\"y",{mime_type},"blob":"AAAA"}}}}"#)
        );
        assert!(block("resource", "").contains(r#""uri":"about:blank""#));
    }
}
