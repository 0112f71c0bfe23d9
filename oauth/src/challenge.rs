//! `WWW-Authenticate`: challenges by the grammar of RFC 9110 11.6.1, and the ones that apply (`auth.md` 2.1).

/// Most challenges that are read.
pub const MAX_CHALLENGES: usize = 16;
/// Most bytes of all values together that are read.
pub const MAX_BYTES: usize = 8 << 10;

/// One scheme with its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Challenge {
    /// As it was written; compared without case.
    pub scheme: String,
    /// A single `token68` in place of parameters.
    pub token68: Option<String>,
    /// Names in lower case, with their values unescaped.
    pub parameters: Vec<(String, String)>,
}

impl Challenge {
    /// The value of a parameter; the name is given in lower case.
    #[must_use]
    pub fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }

    fn repeats_itself(&self) -> bool {
        let mut names: Vec<&str> = self.parameters.iter().map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        names.windows(2).any(|pair| pair[0] == pair[1])
    }
}

/// The content of a `Bearer` challenge.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bearer {
    /// Where the protected resource metadata is: a URL, or a reference relative to the URL that was asked.
    pub resource_metadata: Option<String>,
    /// Scopes, separated by spaces.
    pub scope: Option<String>,
    /// An error code.
    pub error: Option<String>,
    /// A text for people; untrusted.
    pub error_description: Option<String>,
}

impl Bearer {
    /// The challenge that counts: the first `Bearer` with `resource_metadata`, else the first `Bearer`.
    #[must_use]
    pub fn find<V: AsRef<[u8]>>(values: impl IntoIterator<Item = V>) -> Option<Self> {
        let mut bearers =
            parse(values).into_iter().filter(|c| c.scheme.eq_ignore_ascii_case("bearer")).map(Self::of);
        let first = bearers.next()?;
        if first.resource_metadata.is_some() {
            return Some(first);
        }
        Some(bearers.find(|bearer| bearer.resource_metadata.is_some()).unwrap_or(first))
    }

    /// Whether more scopes are asked for (`auth.md` 5).
    #[must_use]
    pub fn is_insufficient_scope(&self) -> bool {
        self.error.as_deref() == Some("insufficient_scope")
    }

    fn of(challenge: Challenge) -> Self {
        let value = |name| challenge.parameter(name).filter(|value| !value.is_empty()).map(str::to_owned);
        Self {
            resource_metadata: value("resource_metadata"),
            scope: value("scope"),
            error: value("error"),
            error_description: value("error_description"),
        }
    }
}

/// The challenges of all values of the header, in their order. A challenge that breaks the grammar, or names a parameter twice,
/// is left out. Input beyond [`MAX_CHALLENGES`] or [`MAX_BYTES`] is not read.
#[must_use]
pub fn parse<V: AsRef<[u8]>>(values: impl IntoIterator<Item = V>) -> Vec<Challenge> {
    let (mut found, mut room) = (Vec::new(), MAX_BYTES);
    for value in values {
        // What is cut in two would mean something else: such a value is not read at all.
        let Some(left) = room.checked_sub(value.as_ref().len()) else { break };
        room = left;
        read(value.as_ref(), &mut found);
    }
    found.into_iter().flatten().filter(|challenge| !challenge.repeats_itself()).collect()
}

/// Adds the challenges of one value, up to [`MAX_CHALLENGES`]; a broken one is `None`.
fn read(value: &[u8], found: &mut Vec<Option<Challenge>>) {
    // Parameters belong to the scheme in front of them in the same value.
    let mut is_open = false;
    for element in elements(value) {
        match Element::read(element) {
            Some(Element::Parameter(name, value)) if is_open => {
                if let Some(Some(challenge)) = found.last_mut() {
                    challenge.parameters.push((name, value));
                }
            }
            Some(Element::Challenge(challenge)) => {
                if found.len() == MAX_CHALLENGES {
                    return;
                }
                // Parameters behind a `token68` break the grammar.
                is_open = true;
                found.push(Some(challenge));
            }
            Some(Element::Parameter(..)) => {}
            None => {
                if is_open {
                    found.pop();
                    found.push(None);
                }
            }
        }
        if let Some(Some(challenge)) = found.last()
            && challenge.token68.is_some()
            && !challenge.parameters.is_empty()
        {
            found.pop();
            found.push(None);
        }
    }
}

/// The elements between commas, without spaces around them and without empty ones. A comma within quotes does not count.
fn elements(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    let (mut in_quotes, mut escaped) = (false, false);
    let is_comma = move |byte: &u8| {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_quotes => escaped = true,
            b'"' => in_quotes = !in_quotes,
            _ => {}
        }
        *byte == b',' && !in_quotes
    };
    value.split(is_comma).map(trim).filter(|element| !element.is_empty())
}

enum Element {
    /// A scheme, with the rest of its element.
    Challenge(Challenge),
    /// Name and value.
    Parameter(String, String),
}

impl Element {
    /// `auth-scheme [ 1*SP ( token68 / auth-param ) ]` or `auth-param`; `None` if it is neither.
    fn read(element: &[u8]) -> Option<Self> {
        if let Some((name, value)) = parameter(element) {
            return Some(Self::Parameter(name, value));
        }
        let (scheme, rest) = token(element)?;
        let mut challenge = Challenge { scheme: scheme.to_owned(), token68: None, parameters: Vec::new() };
        let content = trim(rest);
        if content.len() == rest.len() && !rest.is_empty() {
            return None;
        }
        if is_token68(content) {
            challenge.token68 = std::str::from_utf8(content).ok().map(str::to_owned);
        } else if !content.is_empty() {
            challenge.parameters.push(parameter(content)?);
        }
        Some(Self::Challenge(challenge))
    }
}

/// `token BWS "=" BWS ( token / quoted-string )`. A value without quotes may have more characters than a token: servers write
/// URLs bare.
fn parameter(text: &[u8]) -> Option<(String, String)> {
    let (name, rest) = token(text)?;
    let value = trim(trim(rest).strip_prefix(b"=")?);
    let value = match value.strip_prefix(b"\"") {
        Some(quoted) => unquoted(quoted)?,
        None => {
            let is_bare = value.iter().all(|b| matches!(b, 0x21..=0x7e) && *b != b'"');
            String::from_utf8(value.to_vec()).ok().filter(|_| is_bare && !value.is_empty())?
        }
    };
    Some((name.to_ascii_lowercase(), value))
}

/// The content of a quoted string whose opening quote has been taken, if its closing quote is the last byte.
fn unquoted(quoted: &[u8]) -> Option<String> {
    let mut value = Vec::with_capacity(quoted.len());
    let mut bytes = quoted.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => return String::from_utf8(value).ok().filter(|_| bytes.as_slice().is_empty()),
            b'\\' => value.push(*bytes.next()?),
            byte => value.push(*byte),
        }
    }
    None
}

/// The token at the start, and the rest.
fn token(text: &[u8]) -> Option<(&str, &[u8])> {
    let is_token = |b: &u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(b);
    let end = text.iter().position(|b| !is_token(b)).unwrap_or(text.len());
    let (token, rest) = text.split_at(end);
    std::str::from_utf8(token).ok().filter(|token| !token.is_empty()).map(|token| (token, rest))
}

/// `1*( ALPHA / DIGIT / "-" / "." / "_" / "~" / "+" / "/" ) *"="`
fn is_token68(text: &[u8]) -> bool {
    let inner = text.iter().take_while(|b| b.is_ascii_alphanumeric() || b"-._~+/".contains(b)).count();
    inner > 0 && text[inner..].iter().all(|b| *b == b'=')
}

fn trim(text: &[u8]) -> &[u8] {
    let is_space = |b: &u8| matches!(b, b' ' | b'\t');
    let start = text.iter().position(|b| !is_space(b)).unwrap_or(text.len());
    let end = text.iter().rposition(|b| !is_space(b)).map_or(start, |last| last + 1);
    &text[start..end]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shown(values: &[&str]) -> String {
        let show = |c: Challenge| {
            let parameters: Vec<String> = c.parameters.iter().map(|(n, v)| format!("{n}={v}")).collect();
            format!("{}[{}{}]", c.scheme, c.token68.unwrap_or_default(), parameters.join(";"))
        };
        parse(values).into_iter().map(show).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn the_grammar_is_that_of_rfc_9110() {
        let rows: &[(&[&str], &str)] = &[
            (&["Bearer"], "Bearer[]"),
            (&["Bearer realm=\"a\", scope=\"x y\""], "Bearer[realm=a;scope=x y]"),
            (
                &["Basic realm=\"simple\", Newauth realm=\"apps\", type=1, title=\"Login to \\\"apps\\\"\""],
                "Basic[realm=simple] Newauth[realm=apps;type=1;title=Login to \"apps\"]",
            ),
            (&["Negotiate", "Bearer scope=a"], "Negotiate[] Bearer[scope=a]"),
            (&["Negotiate , Bearer scope=a"], "Negotiate[] Bearer[scope=a]"),
            (&["Negotiate YWJj==, Bearer scope=a"], "Negotiate[YWJj==] Bearer[scope=a]"),
            (
                &[" , ,Bearer  ,  , error=invalid_token ,, scope = \"a\","],
                "Bearer[error=invalid_token;scope=a]",
            ),
            (&["bEARER REALM=\"a,b\", Scope=c"], "bEARER[realm=a,b;scope=c]"),
            (
                &["Bearer resource_metadata=https://h.example/x?a=b, error=x"],
                "Bearer[resource_metadata=https://h.example/x?a=b;error=x]",
            ),
            (&["Bearer scope=\"\""], "Bearer[scope=]"),
            (&["Bearer scope=\"\\a\\\\\""], "Bearer[scope=a\\]"),
            (&["Bearer\tscope=a"], "Bearer[scope=a]"),
        ];
        for (values, expected) in rows {
            assert_eq!(shown(values), *expected, "{values:?}");
        }
    }

    #[test]
    fn a_broken_challenge_is_left_out_and_others_are_read() {
        let rows: &[(&[&str], &str)] = &[
            (&["Bearer scope=\"a\" x, Basic realm=b"], "Basic[realm=b]"),
            (&["Bearer scope=\"open, Basic realm=b"], ""),
            (&["Bearer scope=\"open", "Basic realm=b"], "Basic[realm=b]"),
            (&["scope=a, Bearer scope=b"], "Bearer[scope=b]"),
            (&["Bearer scope=a, @@, error=c, Basic realm=b"], "Basic[realm=b]"),
            (&["Bearer abc, scope=a, Basic realm=b"], "Basic[realm=b]"),
            (&["@, =, \"\", Basic realm=b"], "Basic[realm=b]"),
            (&["Bearer scope=a, scope=b"], ""),
            (&["Bearer scope=a, SCOPE=a, Basic realm=b"], "Basic[realm=b]"),
            (&["Bearer scope=\"a\u{1}b\""], "Bearer[scope=a\u{1}b]"),
        ];
        for (values, expected) in rows {
            assert_eq!(shown(values), *expected, "{values:?}");
        }
        assert!(parse([b"Bearer scope=\"\xff\"".as_slice()]).is_empty());
    }

    #[test]
    fn no_more_than_the_limits_are_read() {
        let many = "Basic, ".repeat(MAX_CHALLENGES - 1);
        assert_eq!(
            parse([format!("{many}Bearer scope=a, error=b, Digest")]).last().unwrap().parameters.len(),
            2
        );
        assert!(Bearer::find([format!("{many}Basic, Bearer")]).is_none());
        let long = |bytes: usize| format!("Bearer scope=\"{}\"", "x".repeat(bytes - 15));
        assert_eq!(parse([long(MAX_BYTES)]).len(), 1);
        assert!(parse([long(MAX_BYTES + 1)]).is_empty());
        assert!(Bearer::find([long(MAX_BYTES - 5), "Bearer".to_owned()]).unwrap().scope.is_some());
    }

    #[test]
    fn the_first_bearer_with_metadata_counts() {
        let found = Bearer::find([
            "Basic resource_metadata=a",
            "Bearer scope=x, BEARER resource_metadata=\"b\", scope=y, Bearer resource_metadata=c",
        ]);
        let expected = Bearer {
            resource_metadata: Some("b".to_owned()),
            scope: Some("y".to_owned()),
            ..Bearer::default()
        };
        assert_eq!(found, Some(expected));
        assert_eq!(Bearer::find(["Bearer scope=x, Bearer scope=y"]).unwrap().scope.as_deref(), Some("x"));
        assert_eq!(Bearer::find(["Basic realm=x"]), None);
        // `resource=` is another parameter.
        assert_eq!(Bearer::find(["Bearer resource=\"https://h/x\""]), Some(Bearer::default()));
    }

    #[test]
    fn a_challenge_that_names_a_parameter_twice_does_not_count() {
        let found = Bearer::find(["Bearer resource_metadata=a, resource_metadata=b", "Bearer scope=s"]);
        assert_eq!(found.unwrap().scope.as_deref(), Some("s"));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            parameters in proptest::collection::btree_map("[a-z_]{1,12}", "[ -~]{0,20}", 1..5),
            others in 0usize..3,
        ) {
            let written: Vec<String> = parameters
                .iter()
                .map(|(name, value)| format!("{name}=\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\"")))
                .collect();
            let value = format!("{}Bearer {}", "Basic realm=\"a, b\", ".repeat(others), written.join(", "));
            let challenges = parse([value]);
            prop_assert_eq!(challenges.len(), others + 1);
            prop_assert_eq!(&challenges[others].parameters, &parameters.into_iter().collect::<Vec<_>>());
        }

        #[test]
        fn nothing_makes_it_panic(value in proptest::collection::vec(any::<u8>(), 0..200), text in "[Bearer=,\" \\\\a]{0,80}") {
            let _ = parse([value]);
            let _ = parse([text]);
        }
    }
}
