//! Shows people how a server is started or reached: with hidden characters shown, and without secrets.
//!
//! Text that looks like a secret is replaced by `…`: a listing may be copied into reports and screenshots.

use std::borrow::Cow;

use ptc_host::credentials::Secret;
use ptc_host::visible::visible_line;
use ptc_mcp::json::Value;
use url::Url;

/// The replacement of a secret.
const MASK: &str = "…";
/// Prefixes of keys and tokens of well-known services.
const BEGINNINGS: [&str; 20] = [
    "ghp_",
    "gho_",
    "ghs_",
    "ghu_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "sk-",
    "sk_",
    "pk_",
    "rk_",
    "xoxb-",
    "xoxp-",
    "xapp-",
    "hf_",
    "npm_",
    "pypi-",
    "AKIA",
    "AIza",
    "eyJ",
];
/// Suffixes of names of secrets, in lower case and without `-` and `_`.
const NAMES: [&str; 12] = [
    "token",
    "secret",
    "key",
    "password",
    "passwd",
    "passphrase",
    "pass",
    "auth",
    "authorization",
    "credential",
    "dsn",
    "cookie",
];
/// Shortest text that is considered a secret by its form alone.
const LEAST_RANDOM: usize = 20;

/// A command with its arguments on one line. Words with blanks are quoted.
pub(super) fn command<'w>(words: impl IntoIterator<Item = &'w str>) -> String {
    let mut line = String::new();
    let mut is_secret = false;
    for (at, word) in words.into_iter().enumerate() {
        if at > 0 {
            line.push(' ');
        }
        if is_secret && !word.starts_with('-') && !is_reference(word) {
            line.push_str(MASK);
            is_secret = false;
            continue;
        }
        is_secret =
            word.strip_prefix('-').is_some_and(|flag| !flag.contains(['=', ':', ' ']) && names_secret(flag));
        let masked = masked(word);
        let is_blurred =
            masked.is_empty() || masked.contains(|c: char| c.is_whitespace() || "\"'".contains(c));
        let quoted = if is_blurred { Cow::Owned(Value::from(&*masked).to_string()) } else { masked };
        line.push_str(&visible_line(&quoted));
    }
    line
}

/// An address without user information, and with only the names of its query.
pub(super) fn address(text: &str) -> String {
    visible_line(&masked(text)).into_owned()
}

/// True if an upstream's entry contains a secret: in its arguments, its address, or the values of variables and
/// headers.
pub(super) fn has_secret(entry: &Value) -> bool {
    let text = |key: &str| entry.get(key).and_then(Value::as_str).unwrap_or_default();
    let args = entry.get("args").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let named = ["env", "static_headers", "headers"]
        .into_iter()
        .filter_map(|key| entry.get(key)?.as_object())
        .flatten();
    let mut values = named.filter_map(|(name, value)| Some((name.as_str(), value.as_str()?)));
    command(args).contains(MASK)
        || address(text("url")).contains(MASK)
        || values.any(|(name, value)| {
            !value.is_empty() && !is_reference(value) && (names_secret(name) || masked(value).contains(MASK))
        })
}

/// `word` with its secrets replaced by `…`.
fn masked(word: &str) -> Cow<'_, str> {
    if let Some(url) = word.contains("://").then(|| masked_url(word)).flatten() {
        return Cow::Owned(url);
    }
    // `--api-key=x`, `API_KEY=x`, `Authorization: Bearer x`, and the same after a URL or a path.
    for sign in ['=', ':'] {
        if let Some((name, value)) = word.split_once(sign)
            && names_secret(name)
            && !value.trim().is_empty()
            && !is_reference(value.trim())
        {
            let blank = if value.starts_with(' ') { " " } else { "" };
            return Cow::Owned(format!("{name}{sign}{blank}{MASK}"));
        }
    }
    if !word.contains(|c: char| c.is_whitespace() || "=:,;\"'".contains(c)) {
        return if is_secret(word) { Cow::Borrowed(MASK) } else { Cow::Borrowed(word) };
    }
    // The parts of a longer word, such as a shell script.
    let mut out = String::new();
    let mut rest = word;
    let mut after_scheme = false;
    while !rest.is_empty() {
        let end = rest.find(|c: char| c.is_whitespace() || "=:,;\"'".contains(c)).unwrap_or(rest.len());
        let (part, behind) = rest.split_at(end);
        let hides = !part.is_empty() && (is_secret(part) || after_scheme && !is_reference(part));
        out.push_str(if hides { MASK } else { part });
        let sign = behind.chars().next();
        out.extend(sign);
        after_scheme = match part.is_empty() {
            true => after_scheme,
            false => part.eq_ignore_ascii_case("bearer") || part.eq_ignore_ascii_case("basic"),
        };
        rest = &behind[sign.map_or(0, char::len_utf8)..];
    }
    Cow::Owned(out)
}

fn masked_url(word: &str) -> Option<String> {
    // Options that end in a URL keep their name.
    let start = word.find("://").map(|at| {
        word[..at].rfind(|c: char| !c.is_ascii_alphanumeric() && !"+-.".contains(c)).map_or(0, |at| at + 1)
    })?;
    let (before, text) = word.split_at(start);
    let url = Url::parse(text).ok()?;
    let mut out = format!("{before}{}://", url.scheme());
    if !url.username().is_empty() || url.password().is_some() {
        out.push_str(MASK);
        out.push('@');
    }
    out.push_str(url.host_str().unwrap_or_default());
    if let Some(port) = url.port() {
        out.push_str(&format!(":{port}"));
    }
    let bare = url.path() == "/" && !text.ends_with('/') && url.query().is_none() && url.fragment().is_none();
    if !bare {
        let parts: Vec<&str> =
            url.path().split('/').map(|part| if is_secret(part) { MASK } else { part }).collect();
        out.push_str(&parts.join("/"));
    }
    if let Some(query) = url.query() {
        let shown = query.split('&').map(|pair| match pair.split_once('=') {
            Some((name, value)) if !value.is_empty() && !is_reference(value) => format!("{name}={MASK}"),
            _ if is_secret(pair) => MASK.to_owned(),
            _ => pair.to_owned(),
        });
        out.push('?');
        out.push_str(&shown.collect::<Vec<_>>().join("&"));
    }
    if url.fragment().is_some() {
        out.push('#');
        out.push_str(MASK);
    }
    Some(out)
}

/// True if a name suggests that its value is a secret.
fn names_secret(name: &str) -> bool {
    let plain: String =
        name.chars().filter(|c| !matches!(c, '-' | '_')).flat_map(char::to_lowercase).collect();
    let last = plain.rsplit(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    NAMES.iter().any(|word| last.ends_with(word))
}

/// `${NAME}`, `$NAME` and `%NAME%` refer to a value and contain none.
fn is_reference(text: &str) -> bool {
    text.starts_with('$') || text.len() > 2 && text.starts_with('%') && text.ends_with('%')
}

/// True if a word without blanks looks like a secret.
fn is_secret(word: &str) -> bool {
    let known =
        BEGINNINGS.iter().any(|beginning| word.len() >= beginning.len() + 8 && word.starts_with(beginning));
    known || is_random(word)
}

/// True if a word looks random: long, of letters and digits, with high entropy and without order.
fn is_random(word: &str) -> bool {
    let is_plain = word
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'+' | b'/' | b'='));
    let has_digit = word.bytes().any(|byte| byte.is_ascii_digit());
    let has_letter = word.bytes().any(|byte| byte.is_ascii_alphabetic());
    // Names have words between their separators; a run of both kinds is not a word.
    let longest = word.split(['-', '_', '/']).map(str::len).max().unwrap_or(0);
    word.len() >= LEAST_RANDOM
        && is_plain
        && has_digit
        && has_letter
        && longest >= LEAST_RANDOM
        && !Secret::new(word).is_guessable()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_of_commands_are_masked() {
        for (words, shown) in [
            (&["npx", "-y", "@mcp/server-github@2025.4.8"][..], "npx -y @mcp/server-github@2025.4.8"),
            (&["npx", "--token", "ghp_0123456789abcdefghij0123456789abcdef"], "npx --token …"),
            (&["x", "--token", "hunter2", "--author", "me"], "x --token … --author me"),
            (&["x", "--token", "--verbose", "a"], "x --token --verbose a"),
            (
                &["x", "--api-key=abc", "API_KEY=abc", "-e", "GITHUB_TOKEN"],
                "x --api-key=… API_KEY=… -e GITHUB_TOKEN",
            ),
            (&["x", "--api-key=${KEY}", "--token", "$TOKEN"], "x --api-key=${KEY} --token $TOKEN"),
            (&["x", "--header", "Authorization: Bearer abc"], "x --header \"Authorization: …\""),
            (&["x", "--header", "X-Thing: Bearer abc"], "x --header \"X-Thing: Bearer …\""),
            (&["x", "Authorization:${AUTH}"], "x Authorization:${AUTH}"),
            (&["sh", "-c", "run sk-proj-0123456789abcdef now"], "sh -c \"run … now\""),
            (&["x", "9f86d081884c7d659a2feaa0c55ad015"], "x …"),
            (&["x", "--url", "https://u:p@h/?api_key=x"], "x --url https://…@h/?api_key=…"),
            (&["x", "--dsn=postgres://u:p@h/db"], "x --dsn=postgres://…@h/db"),
            (
                &["/opt/some-very-long-path/with-words/server-2"],
                "/opt/some-very-long-path/with-words/server-2",
            ),
        ] {
            assert_eq!(command(words.iter().copied()), shown);
        }
    }

    #[test]
    fn nothing_of_a_command_is_hidden_and_words_stay_apart() {
        assert_eq!(
            command(["npx", "good", "\u{1b}[1K\r  + good", "sh -c 'x'", "", "a\u{202e}b"]),
            "npx good \"\\u001b[1K\\r  + good\" \"sh -c 'x'\" \"\" a\\u202eb"
        );
    }

    #[test]
    fn addresses_keep_what_is_no_secret() {
        for (text, shown) in [
            ("https://h.example/mcp", "https://h.example/mcp"),
            ("https://h.example", "https://h.example"),
            ("http://127.0.0.1:8080/mcp/", "http://127.0.0.1:8080/mcp/"),
            (
                "https://u:hunter2hunter2@x.example/mcp?api_key=SECRETQUERY&v",
                "https://…@x.example/mcp?api_key=…&v",
            ),
            ("https://h/s/ODc2NTQzMjE6Zm9vYmFyYmF6cXV4/mcp#t=1", "https://h/s/…/mcp#…"),
            ("https://h/?k=${KEY}", "https://h/?k=${KEY}"),
            ("no\u{1b}url", "no\\u001burl"),
        ] {
            assert_eq!(address(text), shown);
        }
    }
}
