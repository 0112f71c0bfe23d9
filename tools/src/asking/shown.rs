//! Converts a question to the parameters of `elicitation/create`.

use ptc_host::questions::{FormDialect, Level, Mode, PendingQuestion};
use ptc_mcp::Revision;
use ptc_mcp::json::{Object, object_text};

use ptc_protocol::Elicitation;

/// The form that replaces a page for a client that opens no pages: its `accept` means that the user has visited the
/// page.
const NO_FIELDS: &str = r#"{"type":"object","properties":{}}"#;

/// The forms of questions that a client can show.
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

    /// True if the client can show such a question and its answer counts.
    pub(super) fn shows(self, level: Level, mode: &Mode) -> bool {
        match mode {
            Mode::Form(form) => self.modes.form && level != Level::OutOfBand && form.fits(self.dialect()),
            Mode::Url(_) => self.modes.is_any(),
        }
    }

    /// True if the client opens the page of such a question itself.
    pub(super) fn opens(self, mode: &Mode) -> bool {
        matches!(mode, Mode::Url(_)) && self.modes.url
    }

    /// The parameters. `fault` is the fault of the last answer; `page` names the page of a question, for a client
    /// that is notified when its user is done there (handshake era).
    pub(super) fn params(
        self,
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

    /// These questions in these modes, as `inputRequests`: a JSON object.
    pub(super) fn requests<'q>(self, open: impl Iterator<Item = (&'q PendingQuestion, Mode)>) -> String {
        object_text(|requests| {
            for (open, mode) in open {
                let params = self.params(&open.question.message, &mode, open.fault.as_deref(), None);
                let request = object_text(|request| {
                    request.string("method", "elicitation/create");
                    request.raw("params", &params);
                });
                requests.raw(&open.id.to_string(), &request);
            }
        })
    }

    fn form(self, params: &mut Object<'_>, message: &str, schema: &str) {
        // Earlier revisions have only one mode, and do not name it.
        if self.revision >= Revision::V2025_11_25 {
            params.string("mode", "form");
        }
        params.string("message", message);
        params.raw("requestedSchema", schema);
    }
}
