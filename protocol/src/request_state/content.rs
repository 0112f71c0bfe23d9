//! The content of a state, and its encoding.

use std::borrow::Cow;

use bytes::Bytes;
use ptc_host::questions::{PendingQuestion, Question};
use ptc_host::state::is_id;
use serde::{Deserialize, Serialize};

use ptc_host::codec;

/// The version of the sealed format.
const VERSION: u8 = 2;
/// Size of a snapshot above which it is compressed.
const PACKED_ABOVE: usize = 4 << 10;
/// Largest snapshot in bytes, checked before it is decompressed.
const MOST_BYTES: usize = 64 << 20;
/// LZ4 decompresses one byte to at most this many.
const MOST_OF_ONE: usize = 255;

/// Identifies a suspension: a state that is issued again for missing answers has the same one.
pub type Jti = [u8; 16];

/// The content of a state.
#[derive(Debug, Clone, PartialEq)]
pub struct Content {
    /// The suspension.
    pub jti: Jti,
    /// The number of this suspension of its program, from 1.
    pub round: u32,
    /// The questions with the answers so far.
    pub questions: Vec<PendingQuestion>,
    /// The program.
    pub carried: Carried,
}

/// The place of the program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Carried {
    /// In the state: its snapshot.
    Snapshot(Bytes),
    /// In the record of the run with this id.
    Kept(String),
    /// In the blob of the store with this id: it is too large to be sent.
    Blob(String),
}

/// The content in front of the bytes of the program.
#[derive(Serialize, Deserialize)]
struct ContentHead<'h> {
    jti: Jti,
    round: u32,
    questions: Cow<'h, [PendingQuestion]>,
    #[serde(borrow)]
    program: ProgramPlace<'h>,
}

/// The place of the program as it is written.
#[derive(Serialize, Deserialize)]
enum ProgramPlace<'h> {
    /// Behind the head.
    Plain,
    /// Behind the head, compressed, of that many bytes.
    Packed(usize),
    Kept(&'h str),
    Blob(&'h str),
}

impl Content {
    /// The content of a state for a new suspension. A client sees of the calls that it approves what the messages show: their
    /// arguments, and the revision of the policy, stay with the program. `None` if the system has no entropy.
    pub fn new<'q>(
        round: u32,
        questions: impl IntoIterator<Item = &'q PendingQuestion>,
        carried: Carried,
    ) -> Option<Content> {
        let shown = |asked: &PendingQuestion| {
            let Question { kind, ref message, ref mode, level, ref upstream, binding, .. } = asked.question;
            let (message, mode, upstream) = (message.clone(), mode.clone(), upstream.clone());
            let (calls, policy_revision) = (Vec::new(), String::new());
            let question = Question { kind, message, mode, level, upstream, calls, policy_revision, binding };
            PendingQuestion::new(asked.id, question)
        };
        let questions = questions.into_iter().map(shown).collect();
        let mut jti = Jti::default();
        getrandom::fill(&mut jti).ok()?;
        Some(Content { jti, round, questions, carried })
    }

    /// Encodes the content. The snapshot is compressed above 4 KiB.
    pub(super) fn write(&self) -> Vec<u8> {
        let (program, rest) = match &self.carried {
            Carried::Kept(id) => (ProgramPlace::Kept(id), Bytes::new()),
            Carried::Blob(id) => (ProgramPlace::Blob(id), Bytes::new()),
            Carried::Snapshot(snapshot) => match packed(snapshot) {
                Some(packed) => (ProgramPlace::Packed(snapshot.len()), packed.into()),
                None => (ProgramPlace::Plain, snapshot.clone()),
            },
        };
        let questions = self.questions.as_slice().into();
        codec::encode(VERSION, &ContentHead { jti: self.jti, round: self.round, questions, program }, &rest)
    }

    /// Decodes the encoding of [`write`](Self::write), and trusts none of it. `None` if it is none of this build.
    pub(super) fn read(bytes: &[u8]) -> Option<Content> {
        let (ContentHead { jti, round, questions, program }, rest) =
            codec::decode::<ContentHead<'_>>(VERSION, bytes)?;
        let id = |id: &str| (is_id(id) && rest.is_empty()).then(|| id.to_owned());
        let carried = match program {
            ProgramPlace::Kept(run) => Carried::Kept(id(run)?),
            ProgramPlace::Blob(blob) => Carried::Blob(id(blob)?),
            ProgramPlace::Plain => Carried::Snapshot(Bytes::copy_from_slice(rest)),
            ProgramPlace::Packed(size) => Carried::Snapshot(unpacked(size, rest)?),
        };
        Some(Content { jti, round, questions: questions.into_owned(), carried })
    }
}

/// The compressed snapshot, if that is worth while.
fn packed(snapshot: &[u8]) -> Option<Vec<u8>> {
    let packed = (snapshot.len() > PACKED_ABOVE).then(|| lz4_flex::block::compress(snapshot));
    packed.filter(|packed| packed.len() < snapshot.len())
}

#[expect(clippy::disallowed_methods, reason = "entry point: unpacked()")]
fn unpacked(size: usize, packed: &[u8]) -> Option<Bytes> {
    if size > MOST_BYTES || size / MOST_OF_ONE > packed.len() {
        return None;
    }
    let snapshot = lz4_flex::block::decompress(packed, size);
    snapshot.ok().filter(|snapshot| snapshot.len() == size).map(Bytes::from)
}

#[cfg(test)]
mod tests {
    use ptc_host::questions::{Form, Level, Mode, QuestionId, QuestionKind};

    use super::*;

    fn content(carried: Carried) -> Content {
        let question = Question {
            kind: QuestionKind::Ask,
            message: "questions".to_owned(),
            mode: Mode::Form(Form::yes_or_no()),
            level: Level::Model,
            upstream: None,
            calls: Vec::new(),
            policy_revision: String::new(),
            binding: [0xfe; 32],
        };
        let questions = vec![PendingQuestion::new(QuestionId::new(1), question)];
        Content { jti: [7; 16], round: 300, questions, carried }
    }

    #[test]
    fn contents_are_read_as_they_were_written() {
        let mixed: Vec<u8> = (0..9000u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        let snapshots = [vec![], b"short".to_vec(), vec![b'x'; 4 << 10], vec![b'x'; 100 << 10], mixed];
        let snapshots = snapshots.map(|snapshot| Carried::Snapshot(snapshot.into()));
        for carried in
            snapshots.into_iter().chain([Carried::Kept("run_abc".into()), Carried::Blob("b-1".into())])
        {
            let content = content(carried);
            assert_eq!(Content::read(&content.write()), Some(content));
        }
        let long = content(Carried::Snapshot(vec![b'x'; 100 << 10].into())).write();
        assert!(long.len() < 1000, "{}", long.len());
    }

    #[test]
    fn the_encoding_is_as_it_was() {
        let head = r"\x02\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\xac\x02";
        let question = r#"\x01\x01\0\tquestions\0!{\"type\":\"object\",\"properties\":{}}\0\0\0\0"#;
        for (carried, program) in [
            (Carried::Kept("run_abc".into()), r"\x02\x07run_abc"),
            (Carried::Snapshot(Bytes::from_static(b"program")), r"\0program"),
        ] {
            let written = content(carried).write().escape_ascii().to_string().replace(r"\x00", r"\0");
            assert_eq!(written, format!(r"{head}{question}{}\0\0\0{program}", r"\xfe".repeat(32)));
        }
    }

    #[test]
    fn bytes_of_anybody_are_refused_and_nothing_is_unpacked_that_is_too_large() {
        let written = content(Carried::Kept("run_abc".into())).write();
        for end in 0..written.len() {
            assert!(Content::read(&written[..end]).is_none(), "{end}");
        }
        assert!(Content::read(&[&written[..], b"x"].concat()).is_none());
        assert!(Content::read(&content(Carried::Kept("run}".into())).write()).is_none());
        let packed = |size: usize, bytes: &[u8]| {
            let head = ContentHead {
                jti: [0; 16],
                round: 1,
                questions: [].as_slice().into(),
                program: ProgramPlace::Packed(size),
            };
            Content::read(&codec::encode(VERSION, &head, bytes))
        };
        for size in [usize::MAX, 4 << 30, 65 << 20, 5000, 0] {
            assert!(packed(size, b"ten bytes!").is_none(), "{size}");
        }
    }
}
