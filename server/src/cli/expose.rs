//! `--expose` of commands that show what clients of `ptc start` would have as tools.

use crate::cli::output::errln;
use crate::options::exposed::Exposed;
use crate::options::flags::find;
use clap::Args;
use ptc_host::catalog::{Catalog, Exposure};
use ptc_host::config::ProcessEnv;
use ptc_host::visible::visible_line;

#[derive(Args, Debug)]
pub(super) struct ExposeArgs {
    /// As `ptc start` has it: which tools clients have as tools of their own
    #[arg(long, value_name = "LIST")]
    expose: Vec<String>,
}

impl ExposeArgs {
    /// The tools that are exposed, as the flag says, else the variable; `None` if neither says anything of tools.
    ///
    /// # Errors
    /// One sentence: there is no such word.
    pub(super) fn exposure(&self, env: &ProcessEnv) -> Result<Option<Exposure>, String> {
        let (shown, texts) = match (self.expose.as_slice(), find("expose").in_environment(env)) {
            ([], Some((variable, text))) => (variable, vec![text.to_string_lossy().into_owned()]),
            (texts, _) => ("--expose".to_owned(), texts.to_vec()),
        };
        let entries = texts.iter().flat_map(|text| text.split(',')).map(str::trim);
        let exposed = Exposed::of(entries.filter(|entry| !entry.is_empty()));
        exposed.map(|exposed| exposed.tools).map_err(|wrong| Exposed::refusal(&shown, &wrong))
    }
}

/// Tells of patterns that fit no tool of a catalog in which all is listed that can be.
pub(super) fn tell_idle(exposure: Option<&Exposure>, catalog: &Catalog) {
    for pattern in exposure.map(|exposure| exposure.idle(catalog)).unwrap_or_default() {
        errln!("ptc: --expose tools={} fits no tool of the upstreams", visible_line(pattern));
    }
}
