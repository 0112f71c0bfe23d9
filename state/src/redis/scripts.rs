//! The Lua scripts, and their answers.

use std::sync::LazyLock;
use std::time::Duration;

use bytes::Bytes;
use redis::{Script, Value};

use super::super::StateError;

pub(super) struct Scripts {
    pub(super) read: Script,
    pub(super) claim: Script,
    pub(super) renew: Script,
    pub(super) commit: Script,
    pub(super) list: Script,
    pub(super) room: Script,
    pub(super) note: Script,
    pub(super) noted: Script,
    pub(super) push: Script,
    pub(super) drain: Script,
    pub(super) announce: Script,
    pub(super) news: Script,
    pub(super) attend: Script,
}

/// The scripts, each with its digest, by which servers know it.
pub(super) static SCRIPTS: LazyLock<Scripts> = LazyLock::new(|| Scripts {
    read: Script::new(include_str!("read.lua")),
    claim: Script::new(include_str!("claim.lua")),
    renew: Script::new(include_str!("renew.lua")),
    commit: Script::new(include_str!("commit.lua")),
    list: Script::new(include_str!("list.lua")),
    room: Script::new(include_str!("room.lua")),
    note: Script::new(include_str!("note.lua")),
    noted: Script::new(include_str!("noted.lua")),
    push: Script::new(include_str!("push.lua")),
    drain: Script::new(include_str!("drain.lua")),
    announce: Script::new(include_str!("announce.lua")),
    news: Script::new(include_str!("news.lua")),
    attend: Script::new(include_str!("attend.lua")),
});

/// The parts of an answer, one after the other.
pub(super) struct Parts(std::vec::IntoIter<Value>);

impl Parts {
    pub(super) fn of(value: Value) -> Result<Self, StateError> {
        Ok(Self(array(value)?.into_iter()))
    }

    fn next(&mut self) -> Result<Value, StateError> {
        self.0.next().ok_or_else(|| unknown("too few parts"))
    }

    pub(super) fn text(&mut self) -> Result<String, StateError> {
        text(self.next()?)
    }

    pub(super) fn number(&mut self) -> Result<u64, StateError> {
        match self.next()? {
            Value::Int(number) => u64::try_from(number).map_err(|_| unknown("a negative number")),
            other => text(other)?.parse().map_err(|_| unknown("no number")),
        }
    }

    /// Milliseconds; none if they are negative.
    pub(super) fn time(&mut self) -> Result<Option<Duration>, StateError> {
        match self.next()? {
            Value::Int(time) => Ok(u64::try_from(time).ok().map(Duration::from_millis)),
            _ => Err(unknown("no time")),
        }
    }

    pub(super) fn bytes(&mut self) -> Result<Option<Bytes>, StateError> {
        match self.next()? {
            Value::Nil => Ok(None),
            other => bytes(other).map(Some),
        }
    }

    pub(super) fn array(&mut self) -> Result<Vec<Value>, StateError> {
        array(self.next()?)
    }
}

pub(super) fn array(value: Value) -> Result<Vec<Value>, StateError> {
    match value {
        Value::Array(parts) => Ok(parts),
        _ => Err(unknown("no list")),
    }
}

pub(super) fn count(value: &Value) -> Result<u64, StateError> {
    match value {
        Value::Int(count) => u64::try_from(*count).map_err(|_| unknown("no count")),
        _ => Err(unknown("no count")),
    }
}

pub(super) fn bytes(value: Value) -> Result<Bytes, StateError> {
    match value {
        Value::BulkString(bytes) => Ok(bytes.into()),
        _ => Err(unknown("no text")),
    }
}

pub(super) fn text(value: Value) -> Result<String, StateError> {
    match value {
        Value::BulkString(bytes) => String::from_utf8(bytes).map_err(|_| unknown("no text")),
        Value::SimpleString(text) => Ok(text),
        Value::Okay => Ok("OK".to_owned()),
        _ => Err(unknown("no text")),
    }
}

/// The word with which a script that writes ends.
pub(super) fn outcome(value: Value) -> Result<(), StateError> {
    match &*text(value)? {
        "done" => Ok(()),
        "gone" => Err(StateError::Gone),
        "conflict" => Err(StateError::Conflict),
        "fenced" => Err(StateError::Fenced),
        "full" => Err(StateError::Full),
        other => Err(unknown(other)),
    }
}

/// The server gives an answer that no script of ours has.
pub(super) fn unknown(what: &str) -> StateError {
    StateError::Unavailable(format!("the server answers in a way that is not known here ({what})"))
}
