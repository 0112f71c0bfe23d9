//! Measures the cost of sending a program to its client (waiting.md 11), with the functions that calls use.

use std::time::Duration;

use ptc_host::engine::{Resume, Suspended};
use ptc_host::state::{Secret, SecretError, StoreClock};

use super::input_required::take_responses;
use ptc_protocol::principal::Principal;
use ptc_protocol::request_state::{RequestStates, StateBinding, StateRules, arguments_digest};
use ptc_protocol::tool::PageVisits;
use ptc_runs::{RequestState, StoredProgram, TravellingRun};

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
        let program = StoredProgram::pack(&suspended.snapshot);
        let content = TravellingRun::new(1, &suspended.questions, program)?.to_bytes();
        let digest = arguments_digest(Some(arguments));
        self.states.seal(self.bound(&digest), &content, self.states.until()).ok()
    }

    /// Resumes a program from this state, with `responses` to its questions; `None` if that is not possible.
    pub fn bring_back(&self, arguments: &str, state: &str, responses: &str) -> Option<Resume> {
        let digest = arguments_digest(Some(arguments));
        let opened = self.states.open(state, self.bound(&digest)).ok()?;
        let RequestState::Run(mut run) = RequestState::from_bytes(&opened.content)? else { return None };
        let visited = PageVisits::default();
        take_responses(
            run.record.questions_mut(),
            Some(responses),
            &visited,
            &self.principal,
            self.clock.now(),
        );
        let answers = run.record.questions().iter().map(|asked| Some((asked.id, asked.answer.clone()?)));
        let (answers, snapshot) = (answers.collect::<Option<_>>()?, run.record.program.unpack()?);
        Some(Resume { snapshot, answers, gate: None })
    }

    fn bound<'a>(&'a self, arguments: &'a [u8; 32]) -> StateBinding<'a> {
        StateBinding { principal: self.principal.name(), method: "tools/call", tool: "lisp_eval", arguments }
    }
}
