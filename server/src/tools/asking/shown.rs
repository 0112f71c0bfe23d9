//! A question as a client is asked it: the parameters of `elicitation/create`.

use ptc_host::questions::{FormDialect, Level, Mode};
use ptc_mcp::Revision;
use ptc_mcp::json::{Object, object_text};

use crate::protocol::Elicitation;

/// The form that a client which opens no pages is shown in place of one: its `accept` means that the user has been there.
const NO_FIELDS: &str = r#"{"type":"object","properties":{}}"#;

/// What a client can be shown.
#[derive(Debug, Clone, Copy)]
pub(super) struct Screen {
    modes: Elicitation,
    revision: Revision,
}

impl Screen {
    pub(super) fn new(modes: Elicitation, revision: Revision) -> Screen {
        Screen { modes, revision }
    }

    fn dialect(self) -> FormDialect {
        FormDialect::of(self.revision)
    }

    /// Whether the client's answer to such a question counts, and it can show the question.
    pub(super) fn shows(self, level: Level, mode: &Mode) -> bool {
        match mode {
            Mode::Form(form) => self.modes.form && level != Level::OutOfBand && form.fits(self.dialect()),
            Mode::Url(_) => self.modes.is_any(),
        }
    }

    /// Whether the client opens the page of such a question itself.
    pub(super) fn opens(self, mode: &Mode) -> bool {
        matches!(mode, Mode::Url(_)) && self.modes.url
    }

    /// The parameters. `fault` says what was wrong with the answer before; `page` names the page of a question to a client that is told
    /// when its user is done there (handshake era).
    pub(super) fn params(
        self,
        (message, mode): (&str, &Mode),
        fault: Option<&str>,
        page: Option<&str>,
    ) -> String {
        let message = match fault {
            Some(fault) => format!("{fault}. {message}"),
            None => message.to_owned(),
        };
        object_text(|params| match mode {
            Mode::Form(form) => self.form(params, &message, &form.to_json(self.dialect())),
            Mode::Url(url) if self.modes.url => {
                params.string("mode", "url");
                params.string("url", url);
                if let Some(page) = page {
                    params.string("elicitationId", page);
                }
                params.string("message", &message);
            }
            Mode::Url(url) => {
                let message = format!("{message} Go to {url} for that, and accept when you are done.");
                self.form(params, &message, NO_FIELDS);
            }
        })
    }

    fn form(self, params: &mut Object<'_>, message: &str, schema: &str) {
        // Before there was another mode, none was named.
        if self.revision >= Revision::V2025_11_25 {
            params.string("mode", "form");
        }
        params.string("message", message);
        params.raw("requestedSchema", schema);
    }
}
