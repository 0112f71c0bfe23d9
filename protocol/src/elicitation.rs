//! The kinds of questions that a client shows to its user (waiting.md 4.1).

use ptc_mcp::Revision;
use ptc_mcp::json::{Kind, Raw};

/// The modes of `elicitation/create` that a client declares.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Elicitation {
    /// It shows forms.
    pub form: bool,
    /// It opens pages.
    pub url: bool,
}

impl Elicitation {
    /// It shows no questions.
    pub const NONE: Elicitation = Elicitation { form: false, url: false };
    /// The members of a capability that name modes, each with its bit in an id.
    const FORM: (&'static str, u8) = ("form", 1);
    const URL: (&'static str, u8) = ("url", 2);

    /// The modes that these capabilities, as sent, declare in this revision. Without modes it means forms, the only
    /// mode of earlier revisions.
    pub(crate) fn declared(capabilities: Option<Raw<'_>>, revision: Revision) -> Elicitation {
        let mut members = capabilities.and_then(Raw::members).into_iter().flatten();
        let declared = members.find(|(name, _)| name == "elicitation").map(|(_, modes)| modes);
        let Some(modes) = declared.filter(|modes| modes.kind() == Kind::Object) else { return Self::NONE };
        let has = |wanted: &str| {
            let mut modes = modes.members().into_iter().flatten();
            modes.any(|(name, mode)| name == wanted && mode.kind() == Kind::Object)
        };
        let url = has(Self::URL.0) && revision >= Revision::V2025_11_25;
        Elicitation { form: has(Self::FORM.0) || !url, url }
    }

    /// True if it shows questions of any mode.
    pub fn is_any(self) -> bool {
        self != Self::NONE
    }

    /// The modes as bits.
    pub fn bits(self) -> u8 {
        let bit = |is_there: bool, (_, bit): (_, u8)| if is_there { bit } else { 0 };
        bit(self.form, Self::FORM) | bit(self.url, Self::URL)
    }

    /// The modes of these bits. Unknown bits of other builds are ignored.
    pub fn of_bits(bits: u8) -> Elicitation {
        let has = |(_, bit): (_, u8)| bits & bit != 0;
        Elicitation { form: has(Self::FORM), url: has(Self::URL) }
    }

    /// The modes as letters, for ids.
    pub fn letters(self) -> &'static str {
        match (self.form, self.url) {
            (false, false) => "",
            (true, false) => "f",
            (false, true) => "u",
            (true, true) => "fu",
        }
    }

    /// The modes of these letters.
    pub fn of_letters(letters: &str) -> Option<Elicitation> {
        (0..4).map(Elicitation::of_bits).find(|modes| modes.letters() == letters)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_are_those_that_a_client_declares() {
        let read = |text: &str, revision| {
            let modes = Elicitation::declared(Some(Raw::parse(text).unwrap()), revision);
            (modes.form, modes.url)
        };
        let (new, old) = (Revision::V2025_11_25, Revision::V2025_06_18);
        for (capabilities, modern, before) in [
            (r#"{"elicitation":{}}"#, (true, false), (true, false)),
            (r#"{"roots":{},"elicitation":{"form":{}}}"#, (true, false), (true, false)),
            (r#"{"elicitation":{"form":{},"url":{}}}"#, (true, true), (true, false)),
            (r#"{"elicitation":{"url":{}}}"#, (false, true), (true, false)),
            (r#"{"elicitation":{"other":{}}}"#, (true, false), (true, false)),
            (r#"{"elicitation":{"url":true}}"#, (true, false), (true, false)),
            (r#"{"elicitation":null}"#, (false, false), (false, false)),
            (r#"{"elicitation":[]}"#, (false, false), (false, false)),
            (r#"{"form":{}}"#, (false, false), (false, false)),
            ("[]", (false, false), (false, false)),
        ] {
            assert_eq!(read(capabilities, new), modern, "{capabilities}");
            assert_eq!(read(capabilities, Revision::V2026_07_28), modern, "{capabilities}");
            assert_eq!(read(capabilities, old), before, "{capabilities}");
        }
        assert_eq!(Elicitation::declared(None, new), Elicitation::NONE);
    }

    #[test]
    fn modes_are_read_as_they_are_written() {
        for bits in 0..4 {
            let modes = Elicitation::of_bits(bits);
            assert_eq!((modes.bits(), Elicitation::of_letters(modes.letters())), (bits, Some(modes)));
        }
        assert_eq!(Elicitation::of_bits(0xfc), Elicitation::NONE);
        assert_eq!(Elicitation::of_letters("uf"), None);
    }
}
