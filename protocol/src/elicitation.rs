//! The kinds of questions that a client shows to its user, and the parameters of `elicitation/create` (waiting.md 4.1).

use ptc_host::questions::{FormDialect, Level, Mode, PendingQuestion};
use ptc_mcp::Revision;
use ptc_mcp::json::{Kind, Object, Raw, object_text};

/// The form that replaces a page for a client that opens no pages: its `accept` means that the user has visited the
/// page.
const NO_FIELDS: &str = r#"{"type":"object","properties":{}}"#;

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

    /// True if a client of this revision can show such a question and its answer counts.
    pub fn shows(self, revision: Revision, level: Level, mode: &Mode) -> bool {
        match mode {
            Mode::Form(form) => {
                self.form && level != Level::OutOfBand && form.fits(FormDialect::of(revision))
            }
            Mode::Url(_) => self.is_any(),
        }
    }

    /// True if the client opens the page of such a question itself.
    pub fn opens(self, mode: &Mode) -> bool {
        matches!(mode, Mode::Url(_)) && self.url
    }

    /// The parameters. `fault` is the fault of the last answer; `page` names the page of a question, for a client
    /// that is notified when its user is done there (handshake era).
    pub fn params(
        self,
        revision: Revision,
        message: &str,
        mode: &Mode,
        fault: Option<&str>,
        page: Option<&str>,
    ) -> String {
        let message = match fault {
            Some(fault) => format!("{fault}. {message}"),
            None => message.to_owned(),
        };
        object_text(|params| match mode {
            Mode::Form(form) => {
                write_form(params, revision, &message, &form.to_json(FormDialect::of(revision)))
            }
            Mode::Url(url) if self.url => {
                params.string("mode", "url");
                params.string("url", url);
                if let Some(page) = page {
                    params.string("elicitationId", page);
                }
                params.string("message", &message);
            }
            Mode::Url(url) => {
                let message = format!("{message} Go to {url} for that, and accept when you are done.");
                write_form(params, revision, &message, NO_FIELDS);
            }
        })
    }

    /// These questions in these modes, as `inputRequests`: a JSON object.
    pub fn requests<'q>(
        self,
        revision: Revision,
        open: impl Iterator<Item = (&'q PendingQuestion, Mode)>,
    ) -> String {
        object_text(|requests| {
            for (open, mode) in open {
                let params =
                    self.params(revision, &open.question.message, &mode, open.fault.as_deref(), None);
                let request = object_text(|request| {
                    request.string("method", "elicitation/create");
                    request.raw("params", &params);
                });
                requests.raw(&open.id.to_string(), &request);
            }
        })
    }

    /// The modes of these letters.
    pub fn of_letters(letters: &str) -> Option<Elicitation> {
        (0..4).map(Elicitation::of_bits).find(|modes| modes.letters() == letters)
    }
}

fn write_form(params: &mut Object<'_>, revision: Revision, message: &str, schema: &str) {
    // Earlier revisions have only one mode, and do not name it.
    if revision >= Revision::V2025_11_25 {
        params.string("mode", "form");
    }
    params.string("message", message);
    params.raw("requestedSchema", schema);
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
