//! What a client of the modern era carries in `requestState` (waiting.md 5.2): the record of a run that is stored nowhere, or
//! the id of one that is.

use bytes::Bytes;
use ptc_host::codec;
use ptc_host::pace::apart;
use ptc_host::questions::{PendingQuestion, Question};
use ptc_host::state::is_id;
use serde::{Deserialize, Serialize};

use super::program::StoredProgram;
use super::record::{RunRecord, Status, StoredCall, VERSION, Wait};

/// Identifies a suspension: a state that is issued again for missing answers has the same one.
pub type Jti = [u8; 16];

/// What a state carries, in the encoding of records.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum RequestState<R = Box<TravellingRun>> {
    /// A run that is stored nowhere else.
    Run(R),
    /// A run of the store.
    Stored {
        /// Its id.
        id: String,
        /// The number of this suspension, from 1.
        round: u32,
    },
}

/// A run whose record travels with its client. What the client's next call has again is not in the record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TravellingRun {
    /// The id of the record.
    pub id: Jti,
    /// The blob of the store that has the program, if it is too large to travel.
    pub blob: Option<String>,
    /// The record: the questions with the answers so far, and the program.
    pub record: RunRecord,
}

impl RequestState {
    /// Encodes the id of a stored run, with the number of its suspension.
    pub fn of_stored(id: &str, round: u32) -> Bytes {
        let state: RequestState = RequestState::Stored { id: id.to_owned(), round };
        codec::encode(VERSION, &state, &[]).into()
    }

    /// Decodes a state, and trusts none of it. `None` if it is none of this build.
    pub fn from_bytes(bytes: &Bytes) -> Option<RequestState> {
        let (mut state, rest) = codec::decode::<RequestState>(VERSION, bytes)?;
        let is_sound = match &mut state {
            RequestState::Run(run) => {
                run.record.program.bytes = bytes.slice_ref(rest);
                let waits = run.record.wait.is_some() && run.record.call.is_some();
                waits && run.blob.as_ref().is_none_or(|blob| is_id(blob) && rest.is_empty())
            }
            RequestState::Stored { id, .. } => is_id(id) && rest.is_empty(),
        };
        is_sound.then_some(state)
    }
}

impl TravellingRun {
    /// The run of a new suspension. A client sees of the calls that it approves what the messages show: their arguments,
    /// and the revision of the policy, stay with the program. `None` if the system has no entropy.
    pub fn new(round: u32, questions: &[PendingQuestion], program: StoredProgram) -> Option<TravellingRun> {
        let shown = |asked: &PendingQuestion| {
            let question = asked.question.clone();
            let question = Question { calls: Vec::new(), policy_revision: String::new(), ..question };
            PendingQuestion::new(asked.id, question)
        };
        let questions = questions.iter().map(shown).collect();
        let mut id = Jti::default();
        getrandom::fill(&mut id).ok()?;
        let record = RunRecord {
            status: Status::Waiting,
            call: Some(StoredCall { round, ..StoredCall::default() }),
            wait: Some(Wait { questions, ..Wait::default() }),
            program,
            ..RunRecord::default()
        };
        Some(TravellingRun { id, blob: None, record })
    }

    /// The number of this suspension of its program, from 1.
    pub fn round(&self) -> u32 {
        self.record.call.as_ref().map_or(1, |call| call.round)
    }

    /// Encodes it.
    pub fn to_bytes(&self) -> Bytes {
        codec::encode(VERSION, &RequestState::Run(self), &self.record.program.bytes).into()
    }

    /// Returns it and its encoding. A large one is encoded on a thread of its own.
    pub async fn written(self) -> (TravellingRun, Bytes) {
        let size = self.record.program.bytes.len();
        apart(size, move || {
            let bytes = self.to_bytes();
            (self, bytes)
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use ptc_host::questions::{Level, QuestionKind};

    use super::super::record::tests::question;
    use super::*;

    fn travelling(program: &'static [u8]) -> TravellingRun {
        let questions = [question(1, QuestionKind::Ask, Level::Model)];
        let program = StoredProgram::pack(&Bytes::from_static(program));
        let run = TravellingRun::new(300, &questions, program).unwrap();
        TravellingRun { id: [7; 16], ..run }
    }

    fn stored(id: &str) -> Bytes {
        RequestState::of_stored(id, 300)
    }

    #[test]
    fn states_are_read_as_they_were_written() {
        let inline = travelling(b"program");
        let mut elsewhere = travelling(b"program");
        elsewhere.record.program.bytes = Bytes::new();
        elsewhere.blob = Some("b_1".to_owned());
        for run in [inline, elsewhere] {
            assert_eq!(RequestState::from_bytes(&run.to_bytes()), Some(RequestState::Run(run.into())));
        }
        let handle = RequestState::Stored { id: "run_abc".to_owned(), round: 300 };
        assert_eq!(RequestState::from_bytes(&stored("run_abc")), Some(handle));
    }

    #[test]
    fn arguments_of_calls_and_the_revision_of_the_policy_do_not_travel() {
        let run = travelling(b"program");
        let asked = &run.record.questions()[0].question;
        assert!(asked.calls.is_empty() && asked.policy_revision.is_empty(), "{asked:?}");
    }

    #[test]
    fn the_encoding_is_as_it_was() {
        let shown = |bytes: &[u8]| bytes.escape_ascii().to_string().replace(r"\x00", r"\0");
        let head = r"\x05\0".to_owned() + &r"\x07".repeat(16) + r"\0";
        let record = r"\x01\0\0\0\0\0\0\0\0\0\x01\0\0\0\0\xac\x02\0\0\x01";
        let question = r#"\x01\x01\0\x06Allow?\0!{\"type\":\"object\",\"properties\":{}}\0\x01\x05files\0\0"#;
        let binding = r"\xfe".repeat(32);
        assert_eq!(
            shown(&travelling(b"program").to_bytes()),
            format!(r"{head}{record}{question}{binding}\0\0\0\0\0\0\0\0\0\x07program")
        );
        assert_eq!(shown(&stored("run_abc")), r"\x05\x01\x07run_abc\xac\x02");
    }

    #[test]
    fn bytes_of_anybody_are_refused() {
        let read = |bytes: &[u8]| RequestState::from_bytes(&Bytes::copy_from_slice(bytes));
        let (run, stored_run) = (travelling(b"").to_bytes(), stored("run_abc"));
        for state in [&run, &stored_run] {
            for end in 0..state.len() {
                assert_eq!(read(&state[..end]), None, "{end}");
            }
            for version in [0, 1, 2, 3, 4] {
                assert_eq!(read(&[&[version], &state[1..]].concat()), None, "{version}");
            }
        }
        assert_eq!(read(&[&stored_run[..], b"x"].concat()), None);
        assert_eq!(read(&stored("run}")), None);
        let elsewhere = |id: &str, rest: &[u8]| {
            let run = TravellingRun { blob: Some(id.to_owned()), ..travelling(b"") };
            read(&[&run.to_bytes()[..], rest].concat())
        };
        assert!(elsewhere("b_1", b"").is_some());
        assert!(elsewhere("b_1", b"x").is_none() && elsewhere("b}", b"").is_none());
        // A record that does not wait.
        let ended = RunRecord { wait: None, ..travelling(b"").record };
        assert_eq!(read(&TravellingRun { record: ended, ..travelling(b"") }.to_bytes()), None);
    }
}
