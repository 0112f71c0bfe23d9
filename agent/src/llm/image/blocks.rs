//! Images in a tool's result, as blocks of MCP's shape: lifted out for a model that sees them, described in words for any
//! other.

use super::super::Message;
use super::Image;
use crate::tool::JsonMap;
use ptc_base::json::Value as Json;

/// Images of one result that a model is given.
const MAX_IMAGES: usize = 8;
/// How deep in a result images are looked for.
const MAX_DEPTH: usize = 16;

/// Takes the images out of a tool's result and puts lines in their places. `seen` says whether the model sees images; for
/// one that does not, the lines are all there is.
pub(crate) fn lift(value: &mut Json, seen: bool) -> Vec<Image> {
    let mut images = Vec::new();
    walk(value, seen, MAX_DEPTH, &mut images);
    images
}

fn walk(value: &mut Json, seen: bool, depth: usize, images: &mut Vec<Image>) {
    match value {
        Json::Array(items) if depth > 0 => {
            items.iter_mut().for_each(|item| walk(item, seen, depth - 1, images));
        }
        Json::Object(map) => match block(map) {
            Some(Ok(image)) if !seen => {
                *value = format!("[image not shown: {image}; this model is given no images]").into();
            }
            Some(Ok(_)) if images.len() == MAX_IMAGES => {
                *value = format!("[image not shown: only the first {MAX_IMAGES} of a result are]").into();
            }
            Some(Ok(image)) => {
                *value = format!("[image {}: {image}]", images.len() + 1).into();
                images.push(image);
            }
            Some(Err(why)) => *value = format!("[image not shown: {why}]").into(),
            None if depth > 0 => map.values_mut().for_each(|item| walk(item, seen, depth - 1, images)),
            None => {}
        },
        _ => {}
    }
}

/// Whether a result's JSON may hold an image. It is as we write it, without blanks.
pub(crate) fn may_hold(json: &[u8]) -> bool {
    std::str::from_utf8(json).is_ok_and(|text| text.contains("\"type\":\"image\""))
}

/// The image of a block, or why it is none; `None` for another object.
fn block(map: &JsonMap) -> Option<Result<Image, String>> {
    if map.get("type")? != "image" {
        return None;
    }
    if let Some(url) = map.get("url").and_then(Json::as_str) {
        return Some(Image::from_url(url).map_err(|why| why.to_string()));
    }
    let media_type = map.get("mimeType").and_then(Json::as_str)?;
    let data = map.get("data").and_then(Json::as_str)?;
    let named: String = media_type.chars().filter(|c| !c.is_control()).take(80).collect();
    Some(
        Image::from_base64(data)
            .map_err(|why| format!("{named}, {} characters of base64; {why}", data.len())),
    )
}

/// The conversation without the images of tool results, for a model that turns out not to see any: each result ends with
/// a line instead. `None` if there are none.
pub(crate) fn lower(messages: &[Message]) -> Option<Vec<Message>> {
    let has = |message: &Message| matches!(message, Message::Tool { images, .. } if !images.is_empty());
    if !messages.iter().any(has) {
        return None;
    }
    let mut messages = messages.to_vec();
    for message in &mut messages {
        if let Message::Tool { content, images, .. } = message
            && !images.is_empty()
        {
            images.clear();
            content.push_str("\n[the images are not shown: this model takes none]");
        }
    }
    Some(messages)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llm::image::tests::PNG;
    use ptc_base::json::json;

    #[test]
    fn images_of_a_result_are_lifted_out_of_it() {
        let image = Image::from_bytes(PNG).unwrap();
        let result = || json!({"content": [{"type": "text", "text": "here"}, image.to_block()], "n": 1});
        let mut value = result();
        assert_eq!(lift(&mut value, true), std::slice::from_ref(&image));
        let line = "[image 1: image/png, 12 bytes]";
        assert_eq!(value, json!({"content": [{"type": "text", "text": "here"}, line], "n": 1}));
        let mut value = result();
        assert_eq!(lift(&mut value, false), []);
        let line = "[image not shown: image/png, 12 bytes; this model is given no images]";
        assert_eq!(value["content"][1], line);
        let mut alone = Image::from_url("https://h/x").unwrap().to_block();
        assert_eq!(lift(&mut alone, true).len(), 1);
        assert_eq!(alone, "[image 1: at an address]");
    }

    #[test]
    fn what_is_no_image_says_so_and_other_data_stays() {
        let mut value = json!([{"type": "image", "mimeType": "image/svg+xml", "data": "PHN2Zz4="},
            {"type": "image", "name": "x"}, {"type": "images"}]);
        assert_eq!(lift(&mut value, true), []);
        assert_eq!(
            value,
            json!(["[image not shown: image/svg+xml, 8 characters of base64; the image is neither PNG, JPEG, GIF nor \
                    WebP, which are the formats that models read]",
                {"type": "image", "name": "x"}, {"type": "images"}])
        );
        let block = Image::from_bytes(PNG).unwrap().to_block();
        let mut many: Json = vec![block; MAX_IMAGES + 1].into();
        assert_eq!(lift(&mut many, true).len(), MAX_IMAGES);
        assert_eq!(many[MAX_IMAGES], "[image not shown: only the first 8 of a result are]");
    }
}
