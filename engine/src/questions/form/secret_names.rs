//! Names and titles of fields that would ask for secrets (waiting.md 3.2).

/// Names of secrets, without `-` and `_`.
const SECRETS: [&str; 24] = [
    "password",
    "passwd",
    "passphrase",
    "passcode",
    "secret",
    "apikey",
    "accesstoken",
    "refreshtoken",
    "authtoken",
    "privatekey",
    "cardnumber",
    "cvc",
    "cvv",
    "pin",
    "pincode",
    "otp",
    "totp",
    "otpcode",
    "onetimecode",
    "verificationcode",
    "securitycode",
    "recoverycode",
    "seedphrase",
    "recoveryphrase",
];

/// Letters of other scripts that look like Latin ones, each after the Latin one. They are those that spell [`SECRETS`]; the
/// whole list is Unicode's UTS 39.
const CONFUSABLES: [(char, &str); 44] = [
    ('a', "аɑα"),
    ('A', "АΑ"),
    ('c', "сϲ"),
    ('C', "СϹ"),
    ('d', "ԁ"),
    ('D', "Ꭰ"),
    ('e', "еҽ"),
    ('E', "ЕΕ"),
    ('f', "ғ"),
    ('F', "Ϝ"),
    ('h', "һ"),
    ('H', "НΗ"),
    ('i', "іιı"),
    ('I', "ІΙӀ"),
    ('k', "кκ"),
    ('K', "КΚ"),
    ('l', "ӏⅼ"),
    ('L', "Ꮮ"),
    ('m', "мⅿ"),
    ('M', "МΜ"),
    ('n', "ոп"),
    ('N', "Ν"),
    ('o', "оοօ"),
    ('O', "ОΟՕ"),
    ('p', "рρ"),
    ('P', "РΡ"),
    ('r', "гᴦ"),
    ('R', "Ꭱ"),
    ('s', "ѕ"),
    ('S', "Ѕ"),
    ('t', "тτ"),
    ('T', "ТΤ"),
    ('u', "υս"),
    ('U', "Ս"),
    ('v', "ѵν"),
    ('V', "Ѵ"),
    ('w', "ԝѡω"),
    ('W', "Ԝ"),
    ('x', "хχ"),
    ('X', "ХΧ"),
    ('y', "уγ"),
    ('Y', "ΥҮ"),
    ('b', "Ь"),
    ('B', "ВΒ"),
];

/// Digits and signs that stand for letters, each with its letter.
const STAND_INS: [(char, char); 8] =
    [('0', 'o'), ('1', 'i'), ('3', 'e'), ('4', 'a'), ('5', 's'), ('7', 't'), ('@', 'a'), ('$', 's')];

/// Text that follows the name of a secret in a title: `Password (required)`, `PIN for the door`.
const ENDS: [&str; 9] = ["(", ":", "?", ",", " for ", " of ", " to ", " on ", " at "];

/// Whether `title` names a secret: its part before a bracket or the like ends with the name of one.
pub(super) fn title_asks_for_secret(title: &str) -> bool {
    let end = ENDS.iter().filter_map(|end| title.find(end)).filter(|at| *at > 0).min().unwrap_or(title.len());
    let is_end = |c: char| c.is_whitespace() || c.is_ascii_punctuation() && !matches!(c, '@' | '$');
    asks_for_secret(title[..end].trim_matches(is_end)) || asks_for_secret(title.trim_matches(is_end))
}

/// Whether `name` is that of a secret: it is one of [`SECRETS`], or its last words are, as in `db_password` and `newPassword2`,
/// by its letters or by their look-alikes. `password_hint` and `secretary` are none.
pub(super) fn asks_for_secret(name: &str) -> bool {
    let name: String = name.chars().map(skeleton).collect();
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
        let is_secret = |text: &str| SECRETS.contains(&text);
        is_secret(&rest) || is_secret(&rest.chars().map(letter).collect::<String>())
    })
}

/// The Latin letter that a character looks like, else itself.
fn skeleton(c: char) -> char {
    let wide =
        u32::from(c).checked_sub(0xfee0).filter(|code| (0x21..=0x7e).contains(code)).and_then(char::from_u32);
    // Mathematical letters: thirteen alphabets, each of both cases.
    let styled = u32::from(c).checked_sub(0x1d400).filter(|at| *at < 13 * 52).and_then(|at| {
        let (first, at) =
            if at % 52 < 26 { (u32::from('A'), at % 26) } else { (u32::from('a'), at % 52 - 26) };
        char::from_u32(first + at)
    });
    let like = || CONFUSABLES.iter().find(|(_, others)| others.contains(c)).map(|(letter, _)| *letter);
    wide.or(styled).or_else(like).unwrap_or(c)
}

/// The letter that a digit or sign stands for.
fn letter(c: char) -> char {
    STAND_INS.iter().find(|(sign, _)| *sign == c).map_or(c, |(_, letter)| *letter)
}

fn is_blank(c: char) -> bool {
    matches!(c, '-' | '_') || c.is_whitespace()
}

#[cfg(test)]
mod tests {
    use super::{asks_for_secret, title_asks_for_secret};

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
            "PIN",
            "user_pin",
            "otp",
            "oneTimeCode",
            "pаssword",
            "ρassωord",
            "ＰＡＳＳＷＯＲＤ",
            "𝐩𝐚𝐬𝐬𝐰𝐨𝐫𝐝",
            "passw0rd",
            "p@$$word",
            "sесret",
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
            "spin",
            "shipping",
            "opinion",
            "регион",
        ] {
            assert!(!asks_for_secret(name), "{name}");
        }
    }

    #[test]
    fn titles_of_secrets_are_known_among_other_words() {
        for title in [
            "Password",
            "Enter your password:",
            "Password (required)",
            "PIN for the door",
            "Your API key",
            "One-time code",
            "Kontо-Pаssword",
        ] {
            assert!(title_asks_for_secret(title), "{title}");
        }
        for title in [
            "",
            ":",
            "Password hint",
            "Region (of the token)",
            "Opinion of the plan",
            "Reset the password policy",
        ] {
            assert!(!title_asks_for_secret(title), "{title}");
        }
    }
}
