//! The kinds of frames, in one table.
//!
//! A builtin in the middle of its work is a frame, and a snapshot of a waiting program has to name its frames. So every frame
//! is a type of plain data with a row here; a frame without one does not compile. The row gives the name of the kind in a
//! snapshot, and reads it.

use super::aggregate::{extremes, fold, grouping, sums};
use super::call_or_fail;
use super::collection_predicates::quantifiers;
use super::combinators::calling;
use super::discovery::functions as discovery;
use super::edn;
use super::maps::{path, transform as maps, update};
use super::ordering::sort;
use super::pages;
use super::regex::scan;
use super::series;
use super::sets::relational;
use super::strings::{escape, join};
use super::subset::{grouping as runs, while_true};
use super::support::{Each, ThenFrame};
use super::transducers::{pipeline, split_transducer};
use super::transform::{filtering, mapping};
use super::trees::{tree_seq, walk};
use crate::machine::{Capture, FrameKind, FrameRow, Portable, ProgramCall};

/// Gives each type its name, and makes the table of all kinds.
macro_rules! frame_kinds {
    ($($name:literal $kind:ty;)*) => {
        $(impl FrameKind for $kind {
            const NAME: &'static str = $name;
        })*

        /// All kinds, by ascending name.
        pub(super) static KINDS: &[FrameRow] = &[$(FrameRow {
            name: $name,
            layout: <$kind>::layout,
            read: |from| Ok(Box::new(<$kind>::read(from)?)),
        }),*];
    };
}

frame_kinds! {
    "apropos" discovery::Apropos;
    "call of a combinator" calling::CombinatorCall;
    "comparator" calling::Comparing;
    "distinct-by" Each<filtering::Distinct>;
    "doc" discovery::Docs;
    "escape" Each<escape::EscapedText>;
    "extreme by key" Each<extremes::Extreme>;
    "filter" Each<filtering::Select>;
    "group-by" Each<grouping::Groups>;
    "join" join::Join;
    "keep" Each<mapping::Present>;
    "map" Each<mapping::Collect>;
    "mapcat" Each<mapping::Splice>;
    "memoize" calling::Remember;
    "merge-with" maps::MergeWith;
    "pages" pages::Pages;
    "partition-by" Each<runs::Runs>;
    "program" ProgramCall;
    "quantifier" Each<quantifiers::Quantifier>;
    "read-string" edn::Reading;
    "reduce" fold::Reduce;
    "reduce-kv" maps::ReduceKv;
    "reductions" fold::Reductions;
    "reductions of nothing" fold::SingleReduction;
    "regex scan" scan::Scan;
    "run!" Each<mapping::Ignore>;
    "select" Each<relational::RowFilter>;
    "sort" sort::Sorting;
    "sort keys" sort::SortKeys;
    "tool/call!" ThenFrame<call_or_fail::Unwrap>;
    "total by key" Each<sums::Total>;
    "trampoline" calling::Trampoline;
    "transducers" pipeline::Pipeline;
    "transducers of the program" ThenFrame<split_transducer::WrittenFold>;
    "tree-seq" tree_seq::TreeSeq;
    "update" ThenFrame<update::NewEntry>;
    "update of an element" ThenFrame<update::NewElement>;
    "update-in" ThenFrame<path::Levels>;
    "update-keys" Each<maps::NewKeys>;
    "update-vals" Each<maps::NewValues>;
    "update-vals of a vector" Each<maps::VectorCollector>;
    "walk" walk::LevelWalk;
    "walk in step" series::InStep;
    "walk of all nodes" walk::TreeWalk;
    "while" Each<while_true::Prefix>;
    "with-out-str" ThenFrame<Capture>;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtins::support::{Feed, each};
    use crate::machine::Flow;
    use crate::value::Value;

    #[test]
    fn every_kind_of_frame_has_a_name_of_its_own() {
        assert!(KINDS.is_sorted_by(|a, b| a.name < b.name));
    }

    #[test]
    fn a_frame_that_waits_says_its_kind() {
        let function = Value::str("name");
        let flow = each(function, Feed::Times(1), mapping::Ignore);
        let Flow::Push(frame) = flow else { panic!("a loop of calls is a frame") };
        assert_eq!(frame.kind(), "run!");
    }
}
