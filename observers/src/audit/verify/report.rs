//! What a check says.

use super::super::chain::LineDigest;

/// The outcome of a check.
#[derive(Debug, Default)]
pub struct Report {
    /// The files, in the order of their chains.
    pub files: Vec<FileReport>,
    /// What is wrong, at most 1 000 of it.
    pub findings: Vec<Finding>,
    /// How much is wrong.
    pub findings_count: u64,
    /// What is not wrong and may explain something, at most 1 000 of it.
    pub notes: Vec<Note>,
}

impl Report {
    /// True if a process starts where lines may have been cut, which the files alone cannot tell.
    pub fn has_open_starts(&self) -> bool {
        self.notes.iter().any(|note| note.kind == NoteKind::NotClosed)
    }

    /// True if nothing is wrong.
    pub fn is_good(&self) -> bool {
        self.findings_count == 0
    }
}

/// What is known of a file.
#[derive(Debug)]
pub struct FileReport {
    /// Its name.
    pub name: String,
    /// Its lines, also those that are not of the chain.
    pub lines: u64,
    /// Its chain.
    pub chain: Option<String>,
    /// The number of its first line in the chain.
    pub first_seq: Option<u64>,
    /// The number of its last line.
    pub last_seq: Option<u64>,
    /// The digest of its last line.
    pub last_digest: Option<LineDigest>,
    /// How it ends.
    pub end: FileEnd,
}

impl FileReport {
    pub(super) fn new(name: String) -> Self {
        FileReport {
            name,
            lines: 0,
            chain: None,
            first_seq: None,
            last_seq: None,
            last_digest: None,
            end: FileEnd::Open,
        }
    }
}

/// How a file ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileEnd {
    /// With the line with which a process ends.
    Closed,
    /// Another file goes on from its last line.
    Continued,
    /// With any other line: its process runs, was killed, or lines are missing. Which of these, the file cannot tell.
    Open,
}

impl FileEnd {
    /// Its name in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Continued => "continued",
            Self::Open => "open",
        }
    }
}

/// Something that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// In which file; `None` if in none of them.
    pub file: Option<String>,
    /// The line of the file, counted from 1; 0 if it is the whole file.
    pub line: u64,
    /// What it is.
    pub kind: FindingKind,
}

/// What is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FindingKind {
    /// The line before, or this one, is not what was written.
    Changed,
    /// The last line of the file before, or this one, is not what was written.
    FileChanged {
        /// The number of that last line.
        seq: u64,
    },
    /// Lines before this one are missing.
    Missing {
        /// The first and the last number that is missing.
        from: u64,
        /// See `from`.
        to: u64,
    },
    /// Lines at the end of the file before this one, or a whole file between them, are missing.
    FileMissing {
        /// The first and the last number that is missing.
        from: u64,
        /// See `from`.
        to: u64,
    },
    /// The line was not written here.
    Inserted {
        /// Its number.
        seq: u64,
        /// The number of the line before.
        after: u64,
    },
    /// The file has lines that another one has, too.
    FileRepeated {
        /// The number of its first line.
        seq: u64,
    },
    /// The file does not begin with the line with which files begin.
    BeginningCut {
        /// The number of its first line.
        seq: u64,
    },
    /// The files before the first one of a chain are missing.
    OlderMissing {
        /// The last number that is missing.
        to: u64,
        /// The name that the file before had when this one was begun.
        after: Option<String>,
    },
    /// A line that is none of the chain.
    Foreign,
    /// Another chain begins inside the file.
    OtherChain,
    /// The file has no line of a chain.
    NoChain,
    /// The file has no line.
    Empty,
    /// A line that must be there is not.
    ExpectedLineMissing {
        /// Its digest.
        digest: LineDigest,
    },
}

impl FindingKind {
    /// Its name in JSON.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Changed => "changed",
            Self::FileChanged { .. } => "file_changed",
            Self::Missing { .. } => "missing",
            Self::FileMissing { .. } => "file_missing",
            Self::Inserted { .. } => "inserted",
            Self::FileRepeated { .. } => "file_repeated",
            Self::BeginningCut { .. } => "beginning_cut",
            Self::OlderMissing { .. } => "older_missing",
            Self::Foreign => "foreign",
            Self::OtherChain => "other_chain",
            Self::NoChain => "no_chain",
            Self::Empty => "empty",
            Self::ExpectedLineMissing { .. } => "expected_line_missing",
        }
    }

    /// What happened, and what to do. `line`: the line of the file at which it was found.
    pub fn message(&self, line: u64) -> String {
        let span = |from: u64, to: u64| match from == to {
            true => format!("line {from} of the chain is missing"),
            false => format!("lines {from} to {to} of the chain are missing"),
        };
        match self {
            Self::Changed => format!(
                "line {} or line {line} was changed: this one names another predecessor. Compare both with a copy of the file",
                line.saturating_sub(1)
            ),
            Self::FileChanged { seq } => format!(
                "line {seq} of the chain, the last one of the file before, was changed, or this first line was. Compare both with copies"
            ),
            Self::Missing { from, to } => {
                format!("{} before this line. Look for them in a copy of the file", span(*from, *to))
            }
            Self::FileMissing { from, to } => format!(
                "{} before this file: the end of the file before was cut, or a file between them was not given. Name all files of the chain",
                span(*from, *to)
            ),
            Self::Inserted { seq, after } => format!(
                "the line calls itself number {seq} and stands behind number {after}: it was inserted or written twice. Compare it with a copy of the file"
            ),
            Self::FileRepeated { seq } => format!(
                "the file begins with number {seq} of the chain, which an earlier file has already. Name each file once, and no copies"
            ),
            Self::BeginningCut { seq } => format!(
                "the file begins with number {seq} of the chain and not with the line that names the file: its beginning was cut. Look for it in a copy"
            ),
            Self::OlderMissing { to, after } => {
                let named = after.as_ref().map_or(String::new(), |name| {
                    format!(" The file before was called {name} when this one was begun.")
                });
                format!(
                    "{} before this file.{named} Name the older files too, or say --partial if they were deleted as planned",
                    span(1, *to)
                )
            }
            Self::Foreign => {
                "the line was not written by an audit log, or was changed. Compare it with a copy of the file".to_owned()
            }
            Self::OtherChain => {
                "another chain begins here, inside the file: the lines before it were replaced, or two servers wrote to one file. Compare it with a copy".to_owned()
            }
            Self::NoChain => {
                "no line of the file has a number of a chain: a version before chains wrote it, or it is no audit log (a compressed one has to be unpacked: zcat FILE | ptc audit verify -)".to_owned()
            }
            Self::Empty => "the file is empty: its lines were cut, or a rotation has only just made it".to_owned(),
            Self::ExpectedLineMissing { digest } => format!(
                "no line has the digest {}: the end was cut, the chain was written anew, or the file with it was not given",
                digest.hex()
            ),
        }
    }
}

/// Something that is not wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// In which file.
    pub file: String,
    /// The line of the file, counted from 1.
    pub line: u64,
    /// What it is.
    pub kind: NoteKind,
}

/// What is not wrong and may explain something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoteKind {
    /// A process starts behind a line that is not the last one of a process: that was killed, or lines were cut.
    NotClosed,
    /// A part of a line, which a process could not finish.
    Torn {
        /// Its bytes.
        bytes: u64,
    },
    /// Lines before this one could not be written, as the log itself says.
    Lost {
        /// How many.
        lines: u64,
    },
    /// Lines of a version before chains.
    Unchained {
        /// How many.
        lines: u64,
    },
    /// The chain is checked from this line on.
    BeginsLater {
        /// Its number.
        seq: u64,
    },
}

impl NoteKind {
    /// Its name in JSON.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::NotClosed => "not_closed",
            Self::Torn { .. } => "torn",
            Self::Lost { .. } => "lost",
            Self::Unchained { .. } => "unchained",
            Self::BeginsLater { .. } => "begins_later",
        }
    }

    /// What happened.
    pub fn message(&self) -> String {
        match self {
            Self::NotClosed => {
                "a process starts here, and the line before is not the last one of a process: it was killed, or lines and whole files \
                 were cut here. Compare with `audit_log_opened` and `audit_log_closed` in the log of the process"
                    .to_owned()
            }
            Self::Torn { bytes } => format!("{bytes} bytes of a line whose process could not finish it"),
            Self::Lost { lines } => format!("{lines} lines before this one could not be written"),
            Self::Unchained { lines } => {
                format!(
                    "{lines} lines before this one have no number and are not checked: an older version wrote them"
                )
            }
            Self::BeginsLater { seq } => format!("checked from number {seq} of the chain on"),
        }
    }
}
