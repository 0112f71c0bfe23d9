//! The answer that a browser brings (`auth.md` 4, step 1), or that a person pastes (8).

use url::form_urlencoded;

use crate::json::MAX_DESCRIPTION;
use crate::secret::Secret;

/// Longest query.
const MAX_QUERY_BYTES: usize = 8 << 10;
/// Longest code that a person pastes by itself.
const MAX_CODE_BYTES: usize = 4 << 10;

/// An authorization server's answer, as far as it was well-formed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Callback {
    /// Which sign-in it belongs to.
    pub state: Secret,
    /// The issuer that it names, after form-decoding.
    pub iss: Option<String>,
    /// The verdict.
    pub verdict: CallbackVerdict,
}

/// The verdict of a callback.
#[derive(Clone, PartialEq, Eq)]
pub enum CallbackVerdict {
    /// A code for tokens.
    Code(Secret),
    /// An error code, as it came, and the server's words: they are read only when it is known who sent them.
    Error {
        /// The code.
        code: String,
        /// At most 200 characters.
        description: Option<String>,
    },
}

/// Neither prints: who sent them is not known yet.
impl std::fmt::Debug for CallbackVerdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Code(_) => "a code",
            Self::Error { .. } => "an error",
        })
    }
}

/// Why a request is no callback. It gets status 400, and the sign-in that it may have meant keeps waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadCallback {
    /// Another method.
    #[error("not a GET")]
    Method,
    /// Another path.
    #[error("another path")]
    Path,
    /// A query over 8 KiB.
    #[error("the query is over 8 KiB")]
    TooLong,
    /// A parameter came twice.
    #[error("a parameter comes twice")]
    Repeated,
    /// Text that is no UTF-8.
    #[error("a parameter is no text")]
    Encoding,
    /// No `state`.
    #[error("no state")]
    NoState,
    /// Neither `code` nor `error`, or both.
    #[error("neither a code nor an error")]
    NoVerdict,
    /// A pasted text that is neither the URL nor, where one is taken, a code.
    #[error("this is not the URL that the browser was sent to")]
    NotTheUrl,
}

impl Callback {
    /// Reads a request for `target` (path and query) at the redirect URI whose path is `path`.
    ///
    /// # Errors
    /// Why it is no callback.
    pub fn read(method: &str, target: &str, path: &str) -> Result<Self, BadCallback> {
        if method != "GET" {
            return Err(BadCallback::Method);
        }
        let (target_path, query) = target.split_once('?').unwrap_or((target, ""));
        if target_path != path {
            return Err(BadCallback::Path);
        }
        Self::of_query(query)
    }

    fn of_query(query: &str) -> Result<Self, BadCallback> {
        if query.len() > MAX_QUERY_BYTES {
            return Err(BadCallback::TooLong);
        }
        let mut names: Vec<String> = Vec::new();
        let (mut state, mut iss, mut code, mut error, mut description) = (None, None, None, None, None);
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            // The decoder puts this in place of what is no UTF-8: an issuer must not be made equal by that.
            if name.contains('\u{fffd}') || value.contains('\u{fffd}') {
                return Err(BadCallback::Encoding);
            }
            let value = value.into_owned();
            match &*name {
                "state" => state = Some(Secret::new(value)),
                "iss" => iss = Some(value),
                "code" => code = Some(Secret::new(value)),
                "error" => error = Some(value),
                "error_description" if !value.is_empty() => {
                    description = Some(value.chars().take(MAX_DESCRIPTION).collect());
                }
                _ => {}
            }
            names.push(name.into_owned());
        }
        names.sort_unstable();
        if names.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err(BadCallback::Repeated);
        }
        let state = state.ok_or(BadCallback::NoState)?;
        let verdict = match (code, error) {
            (Some(code), None) if !code.expose().is_empty() => CallbackVerdict::Code(code),
            (None, Some(code)) => CallbackVerdict::Error { code, description },
            _ => return Err(BadCallback::NoVerdict),
        };
        Ok(Self { state, iss, verdict })
    }

    /// Reads a text that a person pasted: the URL that the browser was sent to, of the redirect URI `redirect_uri`. A bare code
    /// is taken only if `bare_code` gives the `state` of the one waiting sign-in, and only if its server does not advertise
    /// `iss`: a code alone does not identify its sender.
    ///
    /// # Errors
    /// Why it is no callback.
    pub fn of_pasted(
        text: &str,
        redirect_uri: &str,
        bare_code: Option<&Secret>,
    ) -> Result<Self, BadCallback> {
        let text = text.trim();
        if let Some(rest) = text.strip_prefix(redirect_uri) {
            let rest = rest.split('#').next().unwrap_or(rest);
            // A redirect URI may have a query of its own.
            let separator = if redirect_uri.contains('?') { '&' } else { '?' };
            return Self::of_query(rest.strip_prefix(separator).ok_or(BadCallback::NotTheUrl)?);
        }
        let is_code = (1..=MAX_CODE_BYTES).contains(&text.len())
            && text.bytes().all(|b| matches!(b, 0x21..=0x7e))
            && !text.contains("://");
        match bare_code {
            Some(state) if is_code => Ok(Self {
                state: state.clone(),
                iss: None,
                verdict: CallbackVerdict::Code(Secret::new(text)),
            }),
            _ => Err(BadCallback::NotTheUrl),
        }
    }
}
