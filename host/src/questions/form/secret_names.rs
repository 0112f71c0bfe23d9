//! Names of fields that would ask for secrets (waiting.md 3.2).

/// What a secret is called, without `-` and `_`.
const SECRETS: [&str; 10] = [
    "password",
    "passwd",
    "passphrase",
    "secret",
    "apikey",
    "accesstoken",
    "privatekey",
    "cardnumber",
    "cvc",
    "cvv",
];

/// Whether `name` is that of a secret: it is one of [`SECRETS`], or its last words are, as in `db_password` and
/// `newPassword2`. `password_hint` and `secretary` are none.
pub(super) fn asks_for_secret(name: &str) -> bool {
    let name = name.trim_end_matches(|c: char| c.is_ascii_digit() || is_blank(c));
    let mut before: Option<char> = None;
    let words = name.char_indices().filter_map(|(at, c)| {
        let starts = before.is_none_or(|before| {
            is_blank(before) || c.is_uppercase() && (before.is_lowercase() || before.is_ascii_digit())
        });
        before = Some(c);
        starts.then_some(at)
    });
    words.into_iter().any(|at| {
        let rest = name[at..].chars().filter(|c| !is_blank(*c)).flat_map(char::to_lowercase);
        let rest: String = rest.collect();
        SECRETS.contains(&rest.as_str())
    })
}

fn is_blank(c: char) -> bool {
    matches!(c, '-' | '_') || c.is_whitespace()
}

#[cfg(test)]
mod tests {
    use super::asks_for_secret;

    #[test]
    fn names_of_secrets_are_known_in_every_spelling() {
        for name in [
            "password",
            "Passwd",
            "PASS_PHRASE",
            "secret",
            "api_key",
            "apiKey",
            "API-KEY",
            "ACCESS_TOKEN",
            "p-r-i-v-a-t-e_k-e-y",
            "Card Number",
            "CVC",
            "cvv_",
            "passWord",
            "db_password",
            "newPassword2",
            "client-secret",
            "userAPIKey",
        ] {
            assert!(asks_for_secret(name), "{name}");
        }
    }

    #[test]
    fn other_names_are_not() {
        for name in [
            "",
            "_",
            "12",
            "region",
            "password_hint",
            "secretary",
            "token",
            "key",
            "card",
            "passwords",
            "écvc",
        ] {
            assert!(!asks_for_secret(name), "{name}");
        }
    }
}
