//! The host's part of a snapshot: the waiting calls, and the records for the program's answer.
//!
//! All bytes are untrusted.

use super::Keep;
use super::board::{Board, Brought, Note};
use crate::call_log::CallLog;
use crate::outcome::{
    AnswerBlocks, CallAuth, CallRecord, CallStatus, CatalogOp, PageRecord, ResumeFault, ValueSource,
};
use crate::questions::{Action, Answer, AnsweredBy, Channel, QuestionId, QuestionKind};
use ptc_mcp::json::Value as Json;
use ptc_vm::graph::{DecodeError, WireReader, WireWriter};
use ptc_vm::machine::{CallId, HostRequest};
use ptc_vm::paging::{More, RestMethod, Standing};
use ptc_vm::value::ReplyWatch;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

const VERSION: u8 = 4;
/// Most of anything that is counted.
const MOST: usize = 100_000;

/// The record of a program that was written.
pub(super) struct Record {
    /// Time that the program has had.
    pub(super) used: Duration,
    /// Number of its last question.
    pub(super) last_question: u32,
    /// Answers about sign-ins.
    pub(super) signed: Vec<Note>,
    /// The used part of its caps, in the form of `RunContext::taken`.
    pub(super) taken: [u32; 4],
    pub(super) records: Vec<CallRecord>,
    /// For some of the records, by index: the place of the watch among the machine's.
    pub(super) watches: Vec<(usize, usize)>,
    pub(super) catalog_ops: Vec<CatalogOp>,
    pub(super) pending: Vec<(CallId, HostRequest)>,
    pub(super) brought: BTreeMap<CallId, Brought>,
}

/// Writes the record of a program whose calls all ask. `None`: one of them cannot leave the process.
pub(super) fn write(
    board: &Board,
    used: Duration,
    taken: [u32; 4],
    records: &[CallRecord],
    watches: &[(usize, usize)],
    catalog_ops: &[CatalogOp],
) -> Option<Vec<u8>> {
    let mut to = WireWriter::new();
    to.byte(VERSION);
    to.unsigned(u64::try_from(used.as_nanos()).unwrap_or(u64::MAX));
    taken.into_iter().for_each(|count| to.unsigned(u64::from(count)));
    to.count(records.len());
    records.iter().for_each(|record| write_call(record, &mut to));
    to.count(watches.len());
    for (record, watch) in watches {
        to.count(*record);
        to.count(*watch);
    }
    to.count(catalog_ops.len());
    catalog_ops.iter().for_each(|op| write_op(op, &mut to));
    board.look(|asking, last, signed| {
        to.unsigned(u64::from(last));
        to.count(signed.len());
        signed.iter().for_each(|note| write_note(note, &mut to));
        to.count(asking.len());
        for (call, asking) in asking {
            let Keep::Again { request, progress } = &asking.keep else { return None };
            to.unsigned(*call);
            to.bytes(request);
            to.option(progress.as_deref(), |bytes, to| to.bytes(bytes));
            to.count(asking.questions.len());
            asking.questions.iter().for_each(|asked| write_note(&asked.note, &mut to));
        }
        Some(())
    })?;
    Some(to.into_bytes())
}

/// Reads the output of [`write`].
pub(super) fn read(bytes: &[u8]) -> Result<Record, ResumeFault> {
    let mut from = WireReader::new(bytes);
    if unread(from.byte())? != VERSION {
        return Err(ResumeFault::OtherBuild);
    }
    let used = Duration::from_nanos(unread(from.unsigned())?);
    let mut count = || unread(from.unsigned_32());
    let taken = [count()?, count()?, count()?, count()?];
    let records = list(&mut from, read_call)?;
    let watches = list(&mut from, |from| {
        Ok((unread(from.index(records.len(), "watch"))?, unread(from.index(MOST, "watch"))?))
    })?;
    let catalog_ops = list(&mut from, read_op)?;
    let last_question = unread(from.unsigned_32())?;
    let is_later = |note: &Note| note.id.is_some_and(|id| id.number() > last_question);
    let signed = list(&mut from, read_note)?;
    if signed.iter().any(|note| is_later(note) || note.kind != QuestionKind::SignIn || note.answer.is_none())
    {
        return Err(ResumeFault::Invalid("sign-in"));
    }
    let mut brought = BTreeMap::new();
    let pending = list(&mut from, |from| {
        let call = unread(from.unsigned())?;
        let mut request = WireReader::new(unread(from.bytes())?);
        let asked = HostRequest::read(&mut request).map_err(|_| PENDING)?;
        unread(request.finish("pending call"))?;
        let progress = option(from, |from| Ok(unread(from.bytes())?.to_vec()))?;
        let notes = list(from, read_note)?;
        if notes.iter().any(is_later) {
            return Err(PENDING);
        }
        if brought.insert(call, Brought { progress, notes }).is_some() {
            return Err(PENDING);
        }
        Ok((call, asked))
    })?;
    unread(from.finish("end"))?;
    Ok(Record { used, last_question, signed, taken, records, watches, catalog_ops, pending, brought })
}

/// The part of the calls' log that is written: current records, and which of the machine's watches belong to them.
pub(super) fn logged(log: &CallLog, watched: &[Rc<ReplyWatch>]) -> (Vec<CallRecord>, Vec<(usize, usize)>) {
    let (records, watches) = log.as_settled();
    let place = |watch| watched.iter().position(|known| Rc::ptr_eq(known, watch));
    let watches = watches.iter().filter_map(|(record, watch)| Some((*record, place(watch)?))).collect();
    (records, watches)
}

const PENDING: ResumeFault = ResumeFault::Invalid("pending call");
const RECORD: ResumeFault = ResumeFault::Invalid("call record");

fn unread<T>(read: Result<T, DecodeError>) -> Result<T, ResumeFault> {
    read.map_err(|unread| match unread {
        DecodeError::Invalid(part) => ResumeFault::Invalid(part),
        DecodeError::Refused(_) => ResumeFault::Invalid("record"),
    })
}

fn list<T>(
    from: &mut WireReader<'_>,
    mut one: impl FnMut(&mut WireReader<'_>) -> Result<T, ResumeFault>,
) -> Result<Vec<T>, ResumeFault> {
    // Each of them takes a byte at least.
    let count = unread(from.count())?;
    (0..count).map(|_| one(from)).collect()
}

fn option<T>(
    from: &mut WireReader<'_>,
    one: impl FnOnce(&mut WireReader<'_>) -> Result<T, ResumeFault>,
) -> Result<Option<T>, ResumeFault> {
    if unread(from.flag())? { one(from).map(Some) } else { Ok(None) }
}

fn text(from: &mut WireReader<'_>) -> Result<String, ResumeFault> {
    unread(from.text()).map(str::to_owned)
}

fn write_text(text: Option<&str>, to: &mut WireWriter) {
    to.option(text, |text, to| to.text(text));
}

/// One of `all`, by its place among them.
fn choice<T: Copy>(from: &mut WireReader<'_>, all: &[T]) -> Result<T, ResumeFault> {
    all.get(usize::from(unread(from.byte())?)).copied().ok_or(RECORD)
}

fn place<T: PartialEq>(one: &T, all: &[T]) -> u8 {
    all.iter().position(|other| other == one).and_then(|at| u8::try_from(at).ok()).unwrap_or(u8::MAX)
}

const SOURCES: [ValueSource; 4] =
    [ValueSource::FirstBlock, ValueSource::FirstText, ValueSource::Structured, ValueSource::Nothing];

fn write_call(record: &CallRecord, to: &mut WireWriter) {
    to.text(&record.server);
    to.text(&record.tool);
    write_text(record.args.as_deref(), to);
    to.byte(u8::from(record.status == CallStatus::Ok));
    to.unsigned(record.offset_ms);
    to.unsigned(record.duration_ms);
    write_text(record.reason.as_deref(), to);
    to.option(record.sent, |sent, to| to.byte(u8::from(sent)));
    write_text(record.error.as_deref(), to);
    to.option(record.result_bytes, |bytes, to| to.unsigned(bytes));
    to.byte(u8::from(record.oversize));
    to.option(record.auth.as_ref(), |auth, to| {
        to.text(&auth.scheme);
        to.text(&auth.binding);
    });
    to.option(record.http_status, |status, to| to.unsigned(u64::from(status)));
    to.byte(u8::from(record.looked_at));
    to.option(record.blocks, |blocks, to| {
        to.count(blocks.count);
        to.byte(place(&blocks.value, &SOURCES));
    });
    write_text(record.argument_note.as_deref(), to);
    write_text(record.answer_note.as_deref(), to);
    to.option(record.page.as_deref(), write_page);
}

const MORE: [More; 3] = [More::No, More::Yes, More::Perhaps];

fn write_page(page: &PageRecord, to: &mut WireWriter) {
    to.unsigned(page.group);
    to.unsigned(page.whole);
    to.byte(u8::from(page.by_pages));
    to.option(page.standing.as_ref(), |standing, to| {
        to.option(standing.items, |items, to| to.unsigned(items));
        to.option(standing.total, |total, to| to.unsigned(total));
        to.byte(place(&standing.more, &MORE));
        to.text(&standing.sign);
        let (way, limit) = match &standing.way {
            RestMethod::Pages => (0, None),
            RestMethod::Limit(name) => (1, Some(&**name)),
            RestMethod::Unknown => (2, None),
        };
        to.byte(way);
        write_text(limit, to);
        to.option(standing.clamped, |(asked, most), to| {
            to.unsigned(asked);
            to.unsigned(most);
        });
    });
}

fn read_page(from: &mut WireReader<'_>) -> Result<PageRecord, ResumeFault> {
    let number = |from: &mut WireReader<'_>| unread(from.unsigned());
    Ok(PageRecord {
        group: number(from)?,
        whole: number(from)?,
        by_pages: unread(from.flag())?,
        standing: option(from, |from| {
            Ok(Standing {
                items: option(from, number)?,
                total: option(from, number)?,
                more: choice(from, &MORE)?,
                sign: text(from)?.into(),
                way: match (unread(from.byte())?, option(from, text)?) {
                    (0, None) => RestMethod::Pages,
                    (1, Some(name)) => RestMethod::Limit(name.into()),
                    (2, None) => RestMethod::Unknown,
                    _ => return Err(RECORD),
                },
                clamped: option(from, |from| Ok((number(from)?, number(from)?)))?,
            })
        })?,
    })
}

/// Overviews and samples stay behind: they are for immediate reports.
fn read_call(from: &mut WireReader<'_>) -> Result<CallRecord, ResumeFault> {
    Ok(CallRecord {
        server: text(from)?,
        tool: text(from)?,
        args: option(from, text)?.map(Into::into),
        status: if unread(from.flag())? { CallStatus::Ok } else { CallStatus::Error },
        offset_ms: unread(from.unsigned())?,
        duration_ms: unread(from.unsigned())?,
        reason: option(from, text)?,
        sent: option(from, |from| unread(from.flag()))?,
        error: option(from, text)?,
        result_bytes: option(from, |from| unread(from.unsigned()))?,
        oversize: unread(from.flag())?,
        auth: option(from, |from| Ok(CallAuth { scheme: text(from)?, binding: text(from)? }))?,
        http_status: option(from, |from| u16::try_from(unread(from.unsigned())?).map_err(|_| RECORD))?,
        overview: None,
        looked_at: unread(from.flag())?,
        blocks: option(from, |from| {
            Ok(AnswerBlocks { count: unread(from.unsigned_32())? as usize, value: choice(from, &SOURCES)? })
        })?,
        argument_note: option(from, text)?.map(Into::into),
        answer_note: option(from, text)?.map(Into::into),
        page: option(from, |from| read_page(from).map(Box::new))?,
        sample: None,
        beginning: None,
        seen_shape: None,
    })
}

const OPERATIONS: [&str; 5] = ["servers", "apropos", "dir", "doc", "meta"];

fn write_op(op: &CatalogOp, to: &mut WireWriter) {
    to.byte(place(&op.operation, &OPERATIONS));
    to.text(&op.args.to_string());
    // The words of faults are the host's own; what is shown is that there was one.
    to.byte(u8::from(op.reason.is_some()));
    write_text(op.note.as_deref(), to);
    to.unsigned(u64::try_from(op.duration.as_nanos()).unwrap_or(u64::MAX));
}

#[expect(clippy::disallowed_methods, reason = "entry point: read_op()")]
fn read_op(from: &mut WireReader<'_>) -> Result<CatalogOp, ResumeFault> {
    Ok(CatalogOp {
        operation: choice(from, &OPERATIONS)?,
        args: serde_json::from_str::<Json>(&text(from)?).map_err(|_| ResumeFault::Invalid("discovery"))?,
        reason: unread(from.flag())?.then_some("upstream_unavailable"),
        note: option(from, text)?,
        duration: Duration::from_nanos(unread(from.unsigned())?),
    })
}

fn write_note(note: &Note, to: &mut WireWriter) {
    to.byte(place(&note.kind, &QuestionKind::ALL));
    to.raw(&note.binding);
    to.unsigned(note.id.map_or(0, |id| u64::from(id.number())));
    to.option(note.answer.as_ref(), |answer, to| {
        to.byte(place(&answer.action, &Action::ALL));
        write_text(answer.content.as_deref().map(RawValue::get), to);
        to.byte(place(&answer.by.channel, &Channel::ALL));
        write_text(answer.by.name.as_deref(), to);
        to.unsigned(answer.at_ms);
    });
}

fn read_note(from: &mut WireReader<'_>) -> Result<Note, ResumeFault> {
    let kind = choice(from, &QuestionKind::ALL)?;
    let mut binding = [0; 32];
    binding.copy_from_slice(unread(from.raw(32))?);
    let id = unread(from.unsigned_32())?;
    let answer = option(from, |from| {
        Ok(Answer {
            action: choice(from, &Action::ALL)?,
            content: option(from, |from| RawValue::from_string(text(from)?).map_err(|_| PENDING))?,
            by: AnsweredBy {
                channel: choice(from, &Channel::ALL)?,
                name: option(from, text)?.map(Arc::from),
            },
            at_ms: unread(from.unsigned())?,
        })
    })?;
    Ok(Note { kind, binding, id: (id > 0).then(|| QuestionId::new(id)), answer, is_news: false })
}
