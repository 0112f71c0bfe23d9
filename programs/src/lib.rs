//! Programs that are kept: written once, tested, approved, and then served to everybody as tools.
//!
//! A program is a file `NAME.clj` in a folder. Its first form is data that describes it, and the rest is the program. A lock file in
//! the same folder says which of them are approved; only those are served.
//!
//! | Module | Content |
//! |---|---|
//! | [`name`] | names of programs and their tools |
//! | [`program`], [`head`] | one file: what it says of itself, and the text that runs |
//! | [`limits`] | its limits; what it may call is [`ProgramTools`](ptc_host::engine::kept::ProgramTools) |
//! | [`mod@test_case`], [`replay`] | the tests of its head, and how they run |
//! | [`record`], [`recording`], [`edn`] | a run as a test, and data as text |
//! | [`run`] | the request of a run |
//! | [`link`] | the texts that run |
//! | [`folder`] | a folder with its lock |
//! | [`lock`], [`signature`] | which programs are approved |
//! | [`text_diff`] | what differs between two files |
//! | [`store`] | the approved programs in a store that replicas share |
//! | [`draft`], [`draft_text`] | programs that models have proposed, and how their text is made |
//! | [`draft_store`], [`draft_files`], [`draft_rows`] | where they lie |
//! | [`definition`] | the definitions of tools that approvals hold |
//! | [`staleness`] | whether their tools are still those that they were approved with |

// Tests may read what they like.
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

pub mod definition;
pub mod draft;
pub mod draft_files;
pub mod draft_rows;
pub mod draft_store;
pub mod draft_text;
pub mod edn;
pub mod folder;
pub mod head;
pub mod limits;
pub mod link;
pub mod lock;
pub mod name;
pub mod program;
pub mod record;
pub mod recording;
pub mod replay;
pub mod run;
pub mod signature;
pub mod staleness;
pub mod store;
pub mod test_case;
pub mod text_diff;
