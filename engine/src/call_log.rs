//! The records of one program's calls, and how the program used their results.

use super::outcome::{CallRecord, CallStatus};
use ptc_vm::value::ReplyWatch;
use std::cell::RefCell;
use std::rc::Rc;

/// Tools whose first answers are sampled.
const MOST_SAMPLES: usize = 4;

/// Records in order of completion.
#[derive(Default)]
pub struct CallLog {
    records: RefCell<Vec<CallRecord>>,
    /// For some of the records, by index: the watch over the use of the result.
    watches: RefCell<Vec<(usize, Rc<ReplyWatch>)>>,
    /// Indices of records with a sample.
    sampled: RefCell<Vec<usize>>,
}

impl CallLog {
    /// How many calls have ended.
    pub fn len(&self) -> usize {
        self.records.borrow().len()
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the answer of this tool is to be sampled: it is among the first few tools, and this is its first answer.
    pub fn wants_sample(&self, server: &str, tool: &str) -> bool {
        let (records, mut sampled) = (self.records.borrow(), self.sampled.borrow_mut());
        let same = |index: &usize| records[*index].tool == tool && records[*index].server == server;
        let wanted = sampled.len() < MOST_SAMPLES && !sampled.iter().any(same);
        if wanted {
            sampled.push(records.len());
        }
        wanted
    }

    /// The one that ended last.
    pub fn last(&self) -> Option<CallRecord> {
        self.records.borrow().last().cloned()
    }

    /// Adds a record.
    pub fn push(&self, record: CallRecord) {
        self.records.borrow_mut().push(record);
    }

    /// Adds the record of a result whose use is watched.
    pub fn push_watched(&self, record: CallRecord, watch: ReplyWatch) -> Rc<ReplyWatch> {
        let watch = Rc::new(watch);
        self.watches.borrow_mut().push((self.len(), watch.clone()));
        self.push(record);
        watch
    }

    /// The records, once the program's value has been read, updated with how it used the results.
    pub(super) fn settle(&self) -> Vec<CallRecord> {
        let mut records = self.records.take();
        self.watches.take().iter().for_each(|(index, watch)| settle(&mut records[*index], watch));
        records
    }

    /// The records as they would be if the program ended now, and who learns of the reading of which results.
    #[cfg(feature = "saved-sessions")]
    pub(super) fn as_settled(&self) -> (Vec<CallRecord>, Vec<(usize, Rc<ReplyWatch>)>) {
        let (mut records, watches) = (self.records.borrow().clone(), self.watches.borrow().clone());
        watches.iter().for_each(|(index, watch)| settle(&mut records[*index], watch));
        (records, watches)
    }

    /// The log of a resumed program: records, and the watches over their results.
    #[cfg(feature = "saved-sessions")]
    pub(super) fn of(records: Vec<CallRecord>, watches: Vec<(usize, Rc<ReplyWatch>)>) -> CallLog {
        CallLog { records: records.into(), watches: watches.into(), sampled: RefCell::default() }
    }
}

/// Records how a program used a result.
fn settle(record: &mut CallRecord, watch: &ReplyWatch) {
    // What was looked at before its program was written stays so.
    record.looked_at |= watch.looked_at();
    if watch.mended() > 0 {
        let text = "has halves of surrogate pairs, which are no characters: each became U+FFFD";
        record.answer_note = Some(text.into());
    } else if watch.is_python() {
        record.answer_note = Some("is a text of Python literals, and came as the data that it writes".into());
    }
    if let (Some(page), Some(standing)) = (&mut record.page, watch.standing()) {
        page.standing = Some(standing);
    }
    if let Some(why) = watch.unreadable() {
        record.status = CallStatus::Error;
        record.reason = Some("upstream_error".to_owned());
        record.sent = Some(true);
        record.error = Some(why);
    }
}
