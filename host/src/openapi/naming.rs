//! Tool names from `operationId`s.

/// The tool name for an `operationId`, an override or an `x-ptc-name`: words in lower case joined by single dashes.
/// Words part at case changes and at everything that is neither letter nor digit, so that a name never holds the `/`
/// of a `server/tool` reference.
pub(super) fn normalize(name: &str) -> String {
    let chars: Vec<char> = name.chars().collect();
    let mut words = String::with_capacity(name.len() + 8);
    for (i, &c) in chars.iter().enumerate() {
        let before = i.checked_sub(1).map(|i| chars[i]);
        let after = chars.get(i + 1);
        let starts_word = c.is_uppercase()
            && before.is_some_and(|before| {
                before.is_lowercase()
                    || before.is_numeric()
                    || (before.is_uppercase() && after.is_some_and(|after| after.is_lowercase()))
            });
        if starts_word || !c.is_alphanumeric() {
            words.push('-');
        }
        if c.is_alphanumeric() {
            words.extend(c.to_lowercase());
        }
    }
    words.split('-').filter(|word| !word.is_empty()).collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use super::normalize;

    #[test]
    fn names_are_lower_case_words() {
        for (id, name) in [
            ("listWidgets", "list-widgets"),
            ("list_traces", "list-traces"),
            ("HTTPServer", "http-server"),
            ("getV2Item", "get-v2-item"),
            ("a1B", "a1-b"),
            ("Get-Item", "get-item"),
            ("a.b.c", "a-b-c"),
            ("repos/list-for-org", "repos-list-for-org"),
            ("  get thing  ", "get-thing"),
            ("getHTTPResponseCode", "get-http-response-code"),
            ("__x__", "x"),
            ("ÄpfelZählen", "äpfel-zählen"),
            (" _ ", ""),
        ] {
            assert_eq!(normalize(id), name, "{id}");
        }
    }
}
