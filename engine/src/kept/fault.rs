//! What is wrong with a program's file.

use std::fmt;

use ptc_compiler::{CompileError, Position};

/// A fault of a file, and where it is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct ProgramFault {
    /// The line, from 1; 0 if it is about the whole file.
    pub line: u32,
    /// The column, from 1, in characters; 0 if it is about the whole file.
    pub column: u32,
    /// One sentence for whoever writes the file.
    pub text: String,
}

/// `12:5 :tools must be a vector, got a string`
impl fmt::Display for ProgramFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => f.write_str(&self.text),
            _ => write!(f, "{}:{} {}", self.line, self.column, self.text),
        }
    }
}

impl ProgramFault {
    /// A fault of the whole file.
    pub fn whole(text: impl Into<String>) -> ProgramFault {
        ProgramFault { line: 0, column: 0, text: text.into() }
    }

    /// `NAME.clj:12:5 …`, or `NAME.clj: …` if it is about the whole file.
    #[must_use]
    pub fn in_file(&self, file: &str) -> String {
        match self.line {
            0 => format!("{file}: {}", self.text),
            _ => format!("{file}:{self}"),
        }
    }

    /// A fault at a place.
    pub fn at(place: Position, text: impl Into<String>) -> ProgramFault {
        ProgramFault { line: place.line, column: place.column, text: text.into() }
    }
}

impl From<CompileError> for ProgramFault {
    fn from(error: CompileError) -> ProgramFault {
        ProgramFault::at(error.position(), format!("{}{}", error.message(), error.hint()))
    }
}
