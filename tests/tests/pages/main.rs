//! What pages and manifests say is true of the repository. The quick tier runs it.

mod binaries;
mod citations;
mod divergences;
mod functions_doc;
mod language_docs;
mod limits_page;
mod map;
mod operators;
mod policy_schema;
mod settings_schema;
mod views;
mod waits;

use ptc_tests::product::root;
