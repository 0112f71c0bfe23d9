//! Enterprise-managed authorization: the identity provider of a company gives a grant for the authorization server of the
//! resource (SEP-990, `auth.md` 9).

use super::answer::{GrantError, TokenAnswer, read, successful};
use super::request::GrantContext;
use crate::form::FormBody;
use crate::json;
use crate::message::{Flow, Next, RequestOutcome};
use crate::scopes::Scopes;
use crate::secret::Secret;

/// The token type requested from the identity provider.
const ID_JAG: &str = "urn:ietf:params:oauth:token-type:id-jag";

/// The type of the person's token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubjectTokenType {
    /// An ID token of OpenID Connect.
    IdToken,
    /// A SAML 2.0 assertion.
    Saml2,
}

impl SubjectTokenType {
    /// The URN.
    #[must_use]
    pub fn urn(self) -> &'static str {
        match self {
            Self::IdToken => "urn:ietf:params:oauth:token-type:id_token",
            Self::Saml2 => "urn:ietf:params:oauth:token-type:saml2",
        }
    }

    /// The type of a URN, or of the last part of one.
    #[must_use]
    pub fn of(text: &str) -> Option<Self> {
        let last = text.rsplit(':').next();
        [Self::IdToken, Self::Saml2].into_iter().find(|kind| {
            text == kind.urn() || last == Some(text) && kind.urn().ends_with(&format!(":{text}"))
        })
    }
}

/// Whose grant is asked for.
#[derive(Clone, Debug)]
pub struct Subject {
    /// The person's token.
    pub token: Secret,
    /// Its type.
    pub kind: SubjectTokenType,
}

/// The two steps: at the identity provider, then at the authorization server of the resource.
#[derive(Clone, Copy)]
pub struct IdJag<'a> {
    /// The identity provider: its token endpoint, our client there. `resource` is that of the upstream.
    pub provider: GrantContext<'a>,
    /// The authorization server of the resource.
    pub server: GrantContext<'a>,
    /// Its issuer.
    pub audience: &'a str,
    /// Scopes.
    pub scopes: &'a Scopes,
    /// The person.
    pub subject: &'a Subject,
}

/// The conversation of [`IdJag`].
pub struct IdJagFlow<'a> {
    grant: IdJag<'a>,
    exchanged: bool,
}

impl<'a> IdJag<'a> {
    /// Begins.
    #[must_use]
    pub fn flow(self) -> IdJagFlow<'a> {
        IdJagFlow { grant: self, exchanged: false }
    }
}

impl Flow for IdJagFlow<'_> {
    type Output = TokenAnswer;
    type Error = GrantError;

    fn start(&mut self) -> Next<TokenAnswer, GrantError> {
        let grant = &self.grant;
        let form = FormBody::of("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange")
            .with("requested_token_type", ID_JAG)
            .with("audience", grant.audience)
            .with_some("resource", grant.provider.resource)
            .with("subject_token", grant.subject.token.expose())
            .with("subject_token_type", grant.subject.kind.urn())
            .with_some("scope", grant.scopes.parameter().as_deref());
        Next::Send(grant.provider.authenticated(form))
    }

    fn receive(&mut self, answer: RequestOutcome) -> Next<TokenAnswer, GrantError> {
        if std::mem::replace(&mut self.exchanged, true) {
            return Next::Done(read(&answer));
        }
        match exchanged(&answer) {
            Ok(assertion) => Next::Send(self.grant.server.jwt_bearer(&assertion)),
            Err(fault) => Next::Done(Err(fault)),
        }
    }
}

/// The grant that the identity provider gave.
fn exchanged(answer: &RequestOutcome) -> Result<Secret, GrantError> {
    let response = successful(answer)?;
    let document = json::object(response.body.expose()).ok_or(GrantError::Bad("no JSON object"))?;
    if json::text(&document, "issued_token_type") != Some(ID_JAG) {
        return Err(GrantError::Bad("an issued_token_type other than id-jag"));
    }
    if !json::text(&document, "token_type").is_some_and(|kind| kind.eq_ignore_ascii_case("n_a")) {
        return Err(GrantError::Bad("a token_type other than N_A"));
    }
    json::text(&document, "access_token").map(Secret::new).ok_or(GrantError::Bad("no access_token"))
}
