//! Ranked search by words, for `apropos` over local names and over the tools of upstreams (upstreams.md 13.4).

/// Bytes of a text whose words are looked at: no query and no description needs more, and the rest of a program's text
/// would only cost time.
const LONGEST_TEXT: usize = 4 << 10;
/// Bytes of a word that are looked at.
const LONGEST_WORD: usize = 64;
/// The most words of a query.
pub const MAX_QUERY_WORDS: usize = 32;

/// Words of the first 4 KiB of a text: split at case changes, `_`, `-`, `.`, `/`, `(`, `)`, `,`, `:` and white space, in lower
/// case, and the first 64 bytes of each.
pub fn tokenize(text: &str) -> Vec<String> {
    let text = &text[..text.floor_char_boundary(LONGEST_TEXT)];
    let mut spaced = String::with_capacity(text.len() + 8);
    let mut after_lower = false;
    for c in text.chars() {
        if after_lower && c.is_uppercase() {
            spaced.push(' ');
        }
        after_lower = c.is_lowercase();
        let delimiter = c.is_whitespace() || "_-./(),:".contains(c);
        spaced.push(if delimiter { ' ' } else { c });
    }
    let cut = |word: &str| {
        let mut word = word[..word.floor_char_boundary(LONGEST_WORD)].to_lowercase();
        // Some letters are longer in lower case.
        word.truncate(word.floor_char_boundary(LONGEST_WORD));
        word
    };
    spaced.split_whitespace().map(cut).collect()
}

/// The words of a query.
///
/// # Errors
/// It has more than [`MAX_QUERY_WORDS`]; the message says so.
pub fn query_words(query: &str) -> Result<Vec<String>, String> {
    let words = tokenize(query);
    if words.len() > MAX_QUERY_WORDS {
        return Err(format!("apropos takes at most {MAX_QUERY_WORDS} words, got {}", words.len()));
    }
    Ok(words)
}

/// Sum over the query's words of the best match among `targets`: 10 equal, 5 prefix, 2 inside, each plus `boost`.
pub fn score<'t>(query: &[String], targets: impl Iterator<Item = &'t String> + Clone, boost: u32) -> u32 {
    let best = |word: &String| {
        targets
            .clone()
            // A search for a word begins with a look at all of it, also in a text that is shorter.
            .filter(|target| target.len() >= word.len())
            .map(|target| match target.find(word.as_str()) {
                Some(0) if target.len() == word.len() => 10 + boost,
                Some(0) => 5 + boost,
                Some(_) => 2 + boost,
                None => 0,
            })
            .max()
            .unwrap_or(0)
    };
    query.iter().map(best).fold(0, u32::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_end_at_case_changes_and_punctuation() {
        assert_eq!(tokenize("getPullRequest"), ["get", "pull", "request"]);
        assert_eq!(tokenize("HTTPServer"), ["httpserver"]);
        assert_eq!(
            tokenize("str/split-lines (a_b.c:d,e)"),
            ["str", "split", "lines", "a", "b", "c", "d", "e"]
        );
        assert!(tokenize(" -/ ").is_empty());
        assert_eq!(tokenize(&"é ".repeat(LONGEST_TEXT)).len(), LONGEST_TEXT / 3);
        assert_eq!(tokenize(&"aé".repeat(LONGEST_WORD)), ["aé".repeat(21) + "a"]);
        assert!(tokenize(&"İ".repeat(LONGEST_WORD))[0].len() <= LONGEST_WORD);
    }

    #[test]
    fn a_query_has_32_words() {
        assert_eq!(query_words(&"a ".repeat(32)).unwrap().len(), 32);
        assert_eq!(query_words(&"a ".repeat(33)).unwrap_err(), "apropos takes at most 32 words, got 33");
    }

    #[test]
    fn the_best_word_counts_for_each_query_word() {
        let points =
            |query: &str, target: &str, boost| score(&tokenize(query), tokenize(target).iter(), boost);
        assert_eq!(points("sort", "sort by", 2), 12);
        assert_eq!(points("sort", "sorted", 2), 7);
        assert_eq!(points("sort", "resort", 0), 2);
        assert_eq!(points("sort sort", "sort", 0), 20);
        assert_eq!(points("x", "sort", 2), 0);
    }
}
