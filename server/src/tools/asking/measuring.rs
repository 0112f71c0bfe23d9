//! Measures the cost of sending a program to its client (waiting.md 11), with the functions that calls use.

use std::time::Duration;

use ptc_host::engine::{Resume, Suspended};
use ptc_host::questions::{AnsweredBy, Channel};
use ptc_host::state::{Secret, SecretError, StoreClock};

use super::round::Round;
use crate::principal::Principal;
use crate::protocol::tool::Visited;
use crate::request_state::{Bound, Carried, Content, Jti, RequestStates, StateRules, arguments_digest};

/// The states of a server.
#[derive(Debug)]
pub struct Travel {
    states: RequestStates,
    principal: Principal,
    clock: StoreClock,
}

impl Travel {
    /// The states of a server, each of at most `max_bytes` characters.
    ///
    /// # Errors
    /// The system has no entropy.
    pub fn new(max_bytes: usize) -> Result<Travel, SecretError> {
        let ttl = Duration::from_secs(600);
        let states =
            RequestStates::new(&Secret::random()?, "https://ptc.example/mcp", StateRules { ttl, max_bytes });
        Ok(Travel { states, principal: Principal::named("alice"), clock: StoreClock::start() })
    }

    /// The state that holds a suspended program; `None` if it would be too long.
    pub fn send_off(&self, arguments: &str, suspended: &Suspended) -> Option<String> {
        let mut jti = Jti::default();
        getrandom::fill(&mut jti).ok()?;
        let content = Content {
            jti,
            round: 1,
            asked: Round::new(&suspended.questions).write(),
            carried: Carried::Snapshot(suspended.snapshot.clone()),
        };
        let digest = arguments_digest(Some(arguments));
        self.states.seal(self.bound(&digest), &content, self.states.until()).ok()
    }

    /// Resumes a program from this state, with `responses` to its questions; `None` if that is not possible.
    pub fn bring_back(&self, arguments: &str, state: &str, responses: &str) -> Option<Resume> {
        let digest = arguments_digest(Some(arguments));
        let opened = self.states.open(state, self.bound(&digest)).ok()?;
        let mut round = Round::read(&opened.content.asked, &self.principal).ok()?;
        let by = AnsweredBy { channel: Channel::Client, name: Some(self.principal.shared_name()) };
        round.take((Some(responses), &Visited::default()), (&by, &by), self.clock.now());
        let Carried::Snapshot(snapshot) = opened.content.carried else { return None };
        round.is_answered().then(|| Resume { snapshot, answers: round.answers(), gate: None })
    }

    fn bound<'a>(&'a self, arguments: &'a [u8; 32]) -> Bound<'a> {
        Bound { principal: self.principal.name(), method: "tools/call", tool: "lisp_eval", arguments }
    }
}
