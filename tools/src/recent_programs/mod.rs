//! The programs of each conversation that ended well last, so that one of them can become a draft (programs.md 11).

mod watch;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use ptc_host::engine::{MemoryBudget, MemoryReservation};
use ptc_host::sync::Mutex;
use ptc_mcp::json::Value as Json;
use ptc_protocol::principal::Owner;

pub(crate) use watch::{ProgramWatch, WatchedRun};

/// Most programs of one conversation.
const MOST_PROGRAMS: usize = 8;
/// Most bytes of one conversation.
const MAX_BYTES: u64 = 1 << 20;
/// Most conversations.
const MOST_CONVERSATIONS: usize = 1000;
/// Most bytes of all conversations.
const MAX_ALL_BYTES: u64 = 32 << 20;
/// What an entry takes beside its texts.
const ENTRY_BYTES: u64 = 256;

/// A run of `lisp_eval` that ended well.
#[derive(Debug, PartialEq)]
pub struct RecentProgram {
    /// The program, as it was sent.
    pub program: Arc<str>,
    /// The schema of its context.
    pub input: Json,
    /// The tools that it called, as `UPSTREAM/TOOL`, sorted.
    pub tools: Vec<String>,
    /// The resources that it read, as `UPSTREAM/URI`, sorted.
    pub resources: Vec<String>,
    /// The prompts that it got, as `UPSTREAM/PROMPT`, sorted.
    pub prompts: Vec<String>,
    /// Its test, if it was to be recorded.
    pub test: RecordedTest,
}

/// What became of a recording.
#[derive(Debug, PartialEq, Eq)]
pub enum RecordedTest {
    /// Nobody asked for one.
    None,
    /// The test, as data.
    Test(String),
    /// Why the run cannot be a test.
    Unfit(String),
}

impl RecentProgram {
    fn bytes(&self) -> u64 {
        let test = match &self.test {
            RecordedTest::None => 0,
            RecordedTest::Test(text) | RecordedTest::Unfit(text) => text.len(),
        };
        let names = [&self.tools, &self.resources, &self.prompts];
        let names: usize = names.into_iter().flatten().map(|name| name.len() + size_of::<String>()).sum();
        // Its schema is about as long in memory as its text is, some times over.
        (self.program.len() + 4 * self.input.to_string().len() + test + names) as u64 + ENTRY_BYTES
    }
}

/// The programs of each conversation that ended well last. A conversation is an HTTP session of the handshake era, and otherwise
/// all that its principal does.
pub struct RecentPrograms {
    memory: Option<MemoryBudget>,
    kept: Mutex<KeptConversations>,
}

#[derive(Default)]
struct KeptConversations {
    by_owner: HashMap<Owner, Conversation>,
    bytes: u64,
    /// Counts uses, so that the one that was used longest ago is known.
    clock: u64,
}

struct Conversation {
    /// The latest one last.
    programs: VecDeque<Arc<RecentProgram>>,
    /// Whether the run after the latest of them was none that is kept.
    has_failed: bool,
    bytes: u64,
    used: u64,
    reserved: Option<MemoryReservation>,
}

impl RecentPrograms {
    /// None yet. What is kept is charged to its principal in `memory`.
    #[must_use]
    pub fn new(memory: Option<MemoryBudget>) -> RecentPrograms {
        RecentPrograms { memory, kept: Mutex::default() }
    }

    /// Keeps a program. One for which there is no room is not kept.
    pub fn add(&self, owner: &Owner, program: RecentProgram) {
        let bytes = program.bytes();
        if bytes > MAX_BYTES {
            return;
        }
        let mut kept = self.kept.lock();
        kept.clock += 1;
        let clock = kept.clock;
        let conversation = kept.by_owner.entry(owner.clone()).or_insert_with(|| Conversation {
            programs: VecDeque::new(),
            has_failed: false,
            bytes: 0,
            used: clock,
            reserved: self
                .memory
                .as_ref()
                .map(|memory| MemoryReservation::new(memory.of(Some(owner.principal.known_name())))),
        });
        let before = conversation.bytes;
        conversation.used = clock;
        conversation.has_failed = false;
        conversation.programs.retain(|known| known.program != program.program);
        conversation.programs.push_back(Arc::new(program));
        conversation.settle();
        let after = conversation.bytes;
        if conversation.programs.is_empty() {
            kept.by_owner.remove(owner);
        }
        kept.bytes = kept.bytes + after - before;
        while kept.by_owner.len() > MOST_CONVERSATIONS || kept.bytes > MAX_ALL_BYTES {
            let oldest = kept.by_owner.iter().min_by_key(|(_, conversation)| conversation.used);
            let Some(oldest) = oldest.map(|(owner, _)| owner.clone()) else { break };
            kept.remove(&oldest);
        }
    }

    /// The program of this text, or the latest one.
    #[must_use]
    pub fn find(&self, owner: &Owner, program: Option<&str>) -> Option<Arc<RecentProgram>> {
        let mut kept = self.kept.lock();
        kept.clock += 1;
        let clock = kept.clock;
        let conversation = kept.by_owner.get_mut(owner)?;
        conversation.used = clock;
        let mut latest_first = conversation.programs.iter().rev();
        match program {
            None => latest_first.next().cloned(),
            Some(text) => latest_first.find(|known| known.program.trim() == text.trim()).cloned(),
        }
    }

    /// Notes a run that is not kept, since it did not end well.
    pub fn note_failure(&self, owner: &Owner) {
        if let Some(conversation) = self.kept.lock().by_owner.get_mut(owner) {
            conversation.has_failed = true;
        }
    }

    /// Whether the last run of a conversation did not end well, after one that did.
    #[must_use]
    pub fn has_failed(&self, owner: &Owner) -> bool {
        self.kept.lock().by_owner.get(owner).is_some_and(|conversation| conversation.has_failed)
    }

    /// Forgets those of an owner that will not return.
    pub fn forget(&self, owner: &Owner) {
        self.kept.lock().remove(owner);
    }
}

impl KeptConversations {
    fn remove(&mut self, owner: &Owner) {
        if let Some(gone) = self.by_owner.remove(owner) {
            self.bytes -= gone.bytes;
        }
    }
}

impl Conversation {
    /// Drops the oldest programs until the others have room.
    fn settle(&mut self) {
        loop {
            let bytes = self.programs.iter().map(|program| program.bytes()).sum();
            let has_room = self.programs.len() <= MOST_PROGRAMS
                && bytes <= MAX_BYTES
                && self.reserved.as_ref().is_none_or(|reserved| reserved.resize(bytes));
            if has_room {
                self.bytes = bytes;
                return;
            }
            if self.programs.pop_front().is_none() {
                self.bytes = 0;
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ptc_protocol::principal::Principal;

    fn program(text: &str) -> RecentProgram {
        RecentProgram {
            program: text.into(),
            input: Json::Null,
            tools: Vec::new(),
            resources: Vec::new(),
            prompts: Vec::new(),
            test: RecordedTest::None,
        }
    }

    fn owner(name: &str) -> Owner {
        Owner::of(Principal::named(name))
    }

    #[test]
    fn the_latest_programs_of_a_conversation_are_found_by_their_texts() {
        let recent = RecentPrograms::new(None);
        let (ann, bob) = (owner("ann"), owner("bob"));
        let found = |owner: &Owner, text: Option<&str>| {
            recent.find(owner, text).map(|found| found.program.to_string())
        };
        assert_eq!(found(&ann, None), None);
        for number in 0..10 {
            recent.add(&ann, program(&format!("(+ {number})")));
        }
        assert_eq!(found(&ann, None).as_deref(), Some("(+ 9)"));
        assert_eq!(found(&ann, Some(" (+ 2)\n")).as_deref(), Some("(+ 2)"));
        assert_eq!(found(&ann, Some("(+ 1)")), None, "eight are kept");
        assert_eq!(found(&bob, None), None);
        recent.note_failure(&ann);
        assert!(recent.has_failed(&ann) && !recent.has_failed(&bob));
        recent.add(&ann, program("(+ 9)"));
        assert!(!recent.has_failed(&ann));
        let session = Owner { http_session: Some("s".into()), ..ann.clone() };
        assert_eq!(found(&session, None), None, "a session is another conversation");
        recent.forget(&ann);
        assert_eq!((found(&ann, None), recent.kept.lock().bytes), (None, 0));
    }

    #[test]
    fn what_is_kept_is_bounded_and_charged() {
        let budget = MemoryBudget::shared(4 << 20, 300 << 10);
        let recent = RecentPrograms::new(Some(budget.clone()));
        recent.add(&owner("big"), program(&"x".repeat(2 << 20)));
        assert_eq!(budget.used(), 0, "a program above the bound of a conversation is not kept");
        for number in 0..3 {
            recent.add(&owner("ann"), program(&format!("{number}{}", "x".repeat(200 << 10))));
        }
        let found = recent.find(&owner("ann"), None).expect("the latest one");
        assert!(found.program.starts_with('2'));
        assert!((200 << 10..300 << 10).contains(&budget.used()), "{}", budget.used());
        for number in 0..2 * MOST_CONVERSATIONS {
            recent.add(&owner(&format!("p{number}")), program("1"));
        }
        assert_eq!(recent.kept.lock().by_owner.len(), MOST_CONVERSATIONS);
        assert!(recent.find(&owner("ann"), None).is_none(), "the conversation that was used longest ago");
        assert!(budget.used() < 1 << 20);
    }
}
