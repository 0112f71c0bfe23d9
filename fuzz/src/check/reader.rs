//! Reading any text.

use ptc_compiler::form::FormKind;
use ptc_compiler::reader::{is_unfinished, read};

/// Reading any text gives forms whose places are in it, in order and on character boundaries, or an error.
pub fn reader(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let unfinished = is_unfinished(text);
    let Ok(forms) = read(text) else { return };
    assert!(!unfinished, "it can be read, and more is asked for");
    let mut open = vec![(forms.program(), 0, text.len())];
    while let Some((items, start, end)) = open.pop() {
        let mut behind = start;
        for form in &forms[items] {
            let (from, to) = (form.span.start as usize, form.span.end as usize);
            assert!(behind <= from && from < to && to <= end, "{form:?} in {start}..{end} behind {behind}");
            assert!(text.is_char_boundary(from) && text.is_char_boundary(to), "{form:?} cuts a character");
            behind = to;
            match form.kind {
                FormKind::List(items)
                | FormKind::Vector(items)
                | FormKind::Map(items)
                | FormKind::Set(items)
                | FormKind::ShortFn(items)
                | FormKind::Quoted(items) => open.push((items, from, to)),
                _ => {}
            }
        }
    }
}
