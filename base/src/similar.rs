//! Similar names, for mistyped ones.

/// Jaro similarity from which on a name is worth proposing.
const SIMILAR: f64 = 0.82;
/// Longest name that is compared, in bytes. The comparison is quadratic in the lengths, and a name of a page of text is
/// not a typing error.
const MAX_COMPARED: usize = 128;

/// The one of `names` that is worth proposing for `wanted`: the first that differs in case, `_` and `-` only, else the
/// most similar one, if any is similar enough.
pub fn most_similar<'n>(wanted: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    if wanted.len() > MAX_COMPARED {
        return None;
    }
    let folded = fold(wanted);
    let mut best: Option<(f64, &str)> = None;
    for name in names.filter(|name| name.len() <= MAX_COMPARED) {
        let known = fold(name);
        if known == folded && !folded.is_empty() {
            return Some(name);
        }
        let score = strsim::jaro(&folded, &known);
        if score >= SIMILAR && best.is_none_or(|(most, _)| score > most) {
            best = Some((score, name));
        }
    }
    best.map(|(_, name)| name)
}

/// A name without the differences of spelling.
fn fold(name: &str) -> String {
    name.chars().filter(|c| !matches!(c, '_' | '-')).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_win_over_likeness() {
        let names = ["list_trace", "list_traces", "READ-FILE"];
        let similar = |wanted: &str| most_similar(wanted, names.into_iter());
        assert_eq!(similar("listTraces"), Some("list_traces"));
        assert_eq!(similar("list-traces"), Some("list_traces"));
        assert_eq!(similar("read_file"), Some("READ-FILE"));
        assert_eq!(similar("lst_traces"), Some("list_traces"));
        assert_eq!(similar("delete_all"), None);
        assert_eq!(similar(&"list_traces".repeat(100_000)), None);
    }
}
