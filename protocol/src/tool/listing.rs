//! The text of the list of tools, whole or in pages.
//!
//! A cursor names the last tool of its page. So it is good at every replica and after a change of the list: the next page
//! begins with the first tool that is listed behind that name, whether or not the tool itself is still there.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ptc_mcp::json::write_string;

use super::{Definition, ToolName};
use crate::client::{ListStyle, LongText};

/// Tools of a page.
const PAGE_TOOLS: usize = 200;
/// Bytes of a page with more than one tool.
const PAGE_BYTES: usize = 512 << 10;
/// Longest cursor that is read: names have at most 64 bytes, labels 256 characters.
const MAX_CURSOR: usize = 4096;

/// Tools as they are listed.
#[derive(PartialEq, Eq)]
pub(super) struct Section {
    /// A JSON array.
    json: Arc<[u8]>,
    /// Each tool, and where its text ends in `json`.
    tools: Vec<(ToolName, usize)>,
}

impl Section {
    /// All of it.
    pub(super) fn json(&self) -> &Arc<[u8]> {
        &self.json
    }

    /// The text of tools, without brackets: at most `room` bytes and `number` tools, the first one in any case. And how many
    /// these are.
    fn part(&self, first: usize, number: usize, room: usize) -> (&[u8], usize) {
        let begin = match first {
            0 => 1,
            _ => self.tools[first - 1].1 + 1,
        };
        let rest = self.tools[first..].iter().take(number);
        let fitting = rest.take_while(|(_, end)| end - begin <= room).count().max(1);
        (&self.json[begin..self.tools[first + fitting - 1].1], fitting)
    }
}

/// A section in its place.
pub(super) struct PlacedSection {
    /// What comes before what.
    pub(super) place: usize,
    /// Sections of one place are in order of their labels.
    pub(super) label: Arc<str>,
    /// Whether its tools are in order of their names.
    pub(super) is_sorted: bool,
    pub(super) section: Arc<Section>,
}

/// A page of the list of tools.
pub struct Page {
    /// A JSON array.
    pub json: Arc<[u8]>,
    /// The cursor of the next page, if there is one.
    pub next: Option<String>,
}

/// A cursor that is none of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnknownCursor;

/// The place in the list behind which a page begins.
struct Cursor {
    place: usize,
    label: String,
    name: String,
}

impl Cursor {
    fn read(text: &str) -> Option<Cursor> {
        let bytes = URL_SAFE_NO_PAD.decode(Some(text).filter(|text| text.len() <= MAX_CURSOR)?).ok()?;
        let text = String::from_utf8(bytes).ok()?;
        let mut parts = text.split('\0');
        let (place, label, name) = (parts.next()?.parse().ok()?, parts.next()?, parts.next()?);
        parts.next().is_none().then(|| Cursor { place, label: label.into(), name: name.into() })
    }

    fn after(section: &PlacedSection, name: &str) -> String {
        URL_SAFE_NO_PAD.encode(format!("{}\0{}\0{name}", section.place, section.label))
    }

    /// The first tool of a section that is behind it.
    fn first_behind(&self, placed: &PlacedSection) -> Result<usize, UnknownCursor> {
        let tools = &placed.section.tools;
        match (placed.place, &*placed.label).cmp(&(self.place, &self.label)) {
            std::cmp::Ordering::Less => Ok(tools.len()),
            std::cmp::Ordering::Greater => Ok(0),
            std::cmp::Ordering::Equal if placed.is_sorted => {
                Ok(tools.partition_point(|(name, _)| **name <= *self.name))
            }
            std::cmp::Ordering::Equal => {
                let at = tools.iter().position(|(name, _)| *name == *self.name);
                at.map(|at| at + 1).ok_or(UnknownCursor)
            }
        }
    }
}

/// A page of these sections, which are in order.
///
/// # Errors
/// The cursor is none of ours.
pub(super) fn page(sections: &[PlacedSection], cursor: Option<&str>) -> Result<Page, UnknownCursor> {
    let cursor = cursor.map(|text| Cursor::read(text).ok_or(UnknownCursor)).transpose()?;
    let (mut json, mut number) = (vec![b'['], 0);
    let mut last: Option<(&PlacedSection, &ToolName)> = None;
    for placed in sections {
        let tools = &placed.section.tools;
        let mut first = cursor.as_ref().map_or(Ok(0), |cursor| cursor.first_behind(placed))?;
        while first < tools.len() {
            let (part, count) =
                placed.section.part(first, PAGE_TOOLS - number, PAGE_BYTES.saturating_sub(json.len()));
            if let Some((placed, name)) = last
                && (number >= PAGE_TOOLS || json.len() + part.len() > PAGE_BYTES)
            {
                json.push(b']');
                return Ok(Page { json: json.into(), next: Some(Cursor::after(placed, name)) });
            }
            if number > 0 {
                json.push(b',');
            }
            json.extend_from_slice(part);
            (first, number) = (first + count, number + count);
            last = Some((placed, &tools[first - 1].0));
        }
    }
    json.push(b']');
    Ok(Page { json: json.into(), next: None })
}

/// These tools for clients of this style.
pub(super) fn rendered(definitions: &[Definition], style: ListStyle) -> Section {
    let mut json = vec![b'['];
    let mut tools = Vec::with_capacity(definitions.len());
    for (at, definition) in definitions.iter().enumerate() {
        if at > 0 {
            json.push(b',');
        }
        write_definition(&mut json, definition, style);
        tools.push((definition.name.clone(), json.len()));
    }
    json.push(b']');
    Section { json: json.into(), tools }
}

fn write_definition(out: &mut Vec<u8>, definition: &Definition, style: ListStyle) {
    let (description, input_schema) = match (&definition.long, style.long_text) {
        (Some(long), LongText::Tool) => (&long.in_tool, &definition.input_schema),
        (Some(long), LongText::Parameter) => (&long.beside_parameter, &long.with_parameter),
        (None, _) | (_, LongText::Nowhere) => (&definition.description, &definition.input_schema),
    };
    let adapted = style.schemas.adapted(input_schema);
    out.extend_from_slice(b"{\"name\":");
    write_string(out, &definition.name);
    if let Some(title) = &definition.title {
        out.extend_from_slice(b",\"title\":");
        write_string(out, title);
    }
    out.extend_from_slice(b",\"description\":");
    write_string(out, description);
    out.extend_from_slice(b",\"inputSchema\":");
    out.extend_from_slice(adapted.as_deref().unwrap_or(input_schema).as_bytes());
    for (member, json) in [
        (&b",\"outputSchema\":"[..], &definition.output_schema),
        (b",\"annotations\":", &definition.annotations),
    ] {
        if let Some(json) = json {
            out.extend_from_slice(member);
            out.extend_from_slice(json.as_bytes());
        }
    }
    let original = adapted.map(|_| input_schema);
    match (&definition.meta, original) {
        (None, None) => {}
        (Some(meta), None) => {
            out.extend_from_slice(b",\"_meta\":");
            out.extend_from_slice(meta.as_bytes());
        }
        (meta, Some(original)) => {
            out.extend_from_slice(b",\"_meta\":{\"ptc/inputSchema\":");
            out.extend_from_slice(original.as_bytes());
            let others = meta.as_deref().and_then(|meta| meta.strip_prefix('{')).filter(|rest| *rest != "}");
            if let Some(others) = others {
                out.push(b',');
                out.extend_from_slice(others.as_bytes());
            } else {
                out.push(b'}');
            }
        }
    }
    out.push(b'}');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schemas::SchemaDialect;

    fn definition(name: &str, description: String) -> Definition {
        Definition {
            name: Arc::<str>::from(name).into(),
            title: None,
            description,
            input_schema: "{}".into(),
            output_schema: None,
            annotations: None,
            meta: None,
            long: None,
        }
    }

    fn placed(place: usize, label: &str, names: &[String], bytes: usize) -> PlacedSection {
        let definitions: Vec<_> = names.iter().map(|name| definition(name, "x".repeat(bytes))).collect();
        let section = Arc::new(rendered(&definitions, ListStyle::default()));
        PlacedSection { place, label: label.into(), is_sorted: !label.is_empty(), section }
    }

    fn names(page: &Page) -> Vec<String> {
        let tools: serde_json::Value = serde_json::from_slice(&page.json).unwrap();
        let name = |tool: &serde_json::Value| tool["name"].as_str().unwrap().to_owned();
        tools.as_array().unwrap().iter().map(name).collect()
    }

    fn numbered(prefix: &str, count: usize) -> Vec<String> {
        (0..count).map(|number| format!("{prefix}{number:04}")).collect()
    }

    fn all(sections: &[PlacedSection]) -> Vec<Vec<String>> {
        let (mut pages, mut cursor) = (Vec::new(), None);
        loop {
            let page = page(sections, cursor.as_deref()).unwrap();
            pages.push(names(&page));
            cursor = page.next;
            if cursor.is_none() {
                return pages;
            }
        }
    }

    #[test]
    fn pages_hold_every_tool_once_and_in_order() {
        let (own, a, b) = (vec!["own".to_owned()], numbered("a", 450), numbered("b", 550));
        let sections = [placed(0, "", &own, 1), placed(1, "a", &a, 1), placed(1, "b", &b, 1)];
        let pages = all(&sections);
        assert_eq!(pages.iter().map(Vec::len).collect::<Vec<_>>(), [200, 200, 200, 200, 200, 1]);
        assert_eq!(pages.concat(), [own, a, b].concat());
        let few = [placed(0, "", &numbered("o", 3), 1), placed(1, "a", &numbered("a", 197), 1)];
        assert_eq!(all(&few).len(), 1, "what fits a page is one");
        assert_eq!(all(&[placed(0, "", &[], 1)]), [Vec::<String>::new()]);
    }

    #[test]
    fn a_page_is_bounded_in_bytes_and_holds_one_tool_at_least() {
        let large = placed(1, "a", &numbered("a", 7), 200_000);
        let pages = all(&[placed(0, "", &numbered("o", 1), 1), large]);
        assert_eq!(pages.iter().map(Vec::len).collect::<Vec<_>>(), [3, 2, 2, 1]);
        let huge = placed(1, "a", &numbered("a", 2), PAGE_BYTES);
        assert_eq!(all(&[huge]).iter().map(Vec::len).collect::<Vec<_>>(), [1, 1]);
    }

    #[test]
    fn a_cursor_outlasts_a_change_of_the_list() {
        let before = [placed(1, "a", &numbered("a", 300), 1), placed(1, "b", &numbered("b", 10), 1)];
        let cursor = page(&before, None).unwrap().next.unwrap();
        // The tool that it names is gone, and so is another one before it.
        let without = |gone: &[usize]| -> Vec<String> {
            numbered("a", 300)
                .into_iter()
                .enumerate()
                .filter(|(at, _)| !gone.contains(at))
                .map(|(_, name)| name)
                .collect()
        };
        let after = [placed(1, "a", &without(&[7, 199]), 1), placed(1, "b", &numbered("b", 10), 1)];
        assert_eq!(names(&page(&after, Some(&cursor)).unwrap())[0], "a0200");
        let only_b = [placed(1, "b", &numbered("b", 10), 1)];
        assert_eq!(names(&page(&only_b, Some(&cursor)).unwrap()), numbered("b", 10));
    }

    #[test]
    fn a_schema_that_was_adapted_is_beside_its_original() {
        let schema = r#"{"type":"object","anyOf":[]}"#.to_owned();
        let style = ListStyle { schemas: SchemaDialect::PlainTop, ..ListStyle::default() };
        for (meta, others) in
            [(None, ""), (Some("{}".to_owned()), ""), (Some("{\"a\":1}".to_owned()), ",\"a\":1")]
        {
            let tool = Definition { input_schema: schema.clone(), meta, ..definition("t", String::new()) };
            let text = String::from_utf8(rendered(&[tool], style).json().to_vec()).unwrap();
            let end = format!(
                r#""inputSchema":{{"type":"object"}},"_meta":{{"ptc/inputSchema":{schema}{others}}}}}]"#
            );
            assert!(text.ends_with(&end), "{text}");
        }
    }

    #[test]
    fn cursors_of_others_are_unknown() {
        let sections = [placed(0, "", &numbered("o", 2), 1), placed(1, "a", &numbered("a", 2), 1)];
        let own = |text: &str| URL_SAFE_NO_PAD.encode(text);
        for wrong in [
            "",
            "abc",
            "%",
            &own("x\0a\0b"),
            &own("1\0a"),
            &own("1\0a\0b\0c"),
            &own("0\0\0gone"),
            &"A".repeat(8000),
        ] {
            assert!(page(&sections, Some(wrong)).is_err(), "{wrong}");
        }
    }
}
