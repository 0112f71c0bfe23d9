//! What a program may call: the patterns of its head.

use std::sync::{Arc, OnceLock};

use ptc_base::name_pattern::NamePattern;
use ptc_compiler::datum::{Datum, DatumContent};
use ptc_policy::Grant;

use super::fault::ProgramFault;
use super::fields::Fields;

/// Most patterns of `:tools`.
const MAX_PATTERNS: usize = 200;

/// The tools, resources and prompts that a program may use. It may use nothing that is not named.
#[derive(Clone, Debug)]
pub struct ProgramTools {
    patterns: Patterns,
    resources: Patterns,
    prompts: Patterns,
    /// Made when the program runs: most of many do not.
    grant: OnceLock<Arc<Grant>>,
}

/// A pattern of a tool, a resource or a prompt: `UPSTREAM/NAME`, both with `*` for any run of characters.
fn pattern(text: &str) -> Option<(NamePattern, NamePattern)> {
    let (upstream, name) = text.split_once('/')?;
    Some((NamePattern::new(upstream)?, NamePattern::new(name)?))
}

impl ProgramTools {
    /// `:tools`, `:resources` and `:prompts` of a head.
    ///
    /// # Errors
    /// One of them is no vector of patterns.
    pub fn read(fields: &Fields<'_>) -> Result<ProgramTools, ProgramFault> {
        let patterns = |key| patterns(fields, key);
        let (tools, resources, prompts) = (patterns("tools")?, patterns("resources")?, patterns("prompts")?);
        Ok(ProgramTools { patterns: tools, resources, prompts, grant: OnceLock::new() })
    }

    /// Nothing at all.
    pub(crate) fn none() -> ProgramTools {
        let none = Vec::new;
        ProgramTools { patterns: none(), resources: none(), prompts: none(), grant: OnceLock::new() }
    }

    /// The patterns as they were written, sorted.
    pub fn patterns(&self) -> impl Iterator<Item = String> {
        let mut texts: Vec<String> = self
            .patterns
            .iter()
            .map(|(upstream, tool)| format!("{}/{}", upstream.as_str(), tool.as_str()))
            .collect();
        texts.sort();
        texts.into_iter()
    }

    /// Whether it may call a tool.
    #[must_use]
    pub fn names(&self, upstream: &str, tool: &str) -> bool {
        self.patterns.iter().any(|(of, name)| of.matches(upstream) && name.matches(tool))
    }

    /// Whether it may call a tool of this upstream.
    #[must_use]
    pub fn names_upstream(&self, upstream: &str) -> bool {
        self.patterns.iter().any(|(of, _)| of.matches(upstream))
    }

    /// What it may call of this upstream: names, or patterns with `*`.
    pub fn of_upstream<'a>(&'a self, upstream: &'a str) -> impl Iterator<Item = &'a str> {
        self.patterns.iter().filter(move |(of, _)| of.matches(upstream)).map(|(_, name)| name.as_str())
    }

    /// The tools that it names exactly, without any `*`: upstream and name, as they were written.
    pub fn named(&self) -> impl Iterator<Item = (&str, &str)> {
        let all = self.patterns.iter().map(|(upstream, tool)| (upstream.as_str(), tool.as_str()));
        all.filter(|(upstream, tool)| !upstream.contains('*') && !tool.contains('*'))
    }

    /// Its patterns with `*` that fit none of these tools, as they were written. `tools`: upstreams and names.
    #[must_use]
    pub fn unmatched_patterns(&self, tools: &[(&str, &str)]) -> Vec<String> {
        let has_star = |(upstream, tool): &&(NamePattern, NamePattern)| {
            upstream.as_str().contains('*') || tool.as_str().contains('*')
        };
        let fits_none = |(of, name): &&(NamePattern, NamePattern)| {
            !tools.iter().any(|(upstream, tool)| of.matches(upstream) && name.matches(tool))
        };
        let idle = self.patterns.iter().filter(has_star).filter(fits_none);
        idle.map(|(upstream, tool)| format!("{}/{}", upstream.as_str(), tool.as_str())).collect()
    }

    /// Whether it calls no tool.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.patterns.is_empty()
    }

    /// The part of the upstreams that it may use, to be [within](Grant::within) what its caller may.
    #[must_use]
    pub fn grant(&self) -> &Arc<Grant> {
        let made = || Arc::new(Grant::of_patterns(&self.patterns, &self.resources, &self.prompts));
        self.grant.get_or_init(made)
    }
}

type Patterns = Vec<(NamePattern, NamePattern)>;

fn patterns(fields: &Fields<'_>, key: &str) -> Result<Patterns, ProgramFault> {
    let items = fields.items(key)?;
    if let Some(beyond) = items.get(MAX_PATTERNS) {
        return Err(fields.fault(beyond, format!(":{key} has more than {MAX_PATTERNS} patterns")));
    }
    let read = |item: &Datum| {
        let text = match &item.content {
            DatumContent::Text(text) => Some(text.as_str()),
            _ => None,
        };
        text.and_then(pattern).ok_or_else(|| {
            let got = text.map_or_else(|| item.kind().to_owned(), |text| format!("{text:?}"));
            fields.fault(
                item,
                format!(":{key} has strings such as \"upstream/name\", with * for anything, got {got}"),
            )
        })
    };
    items.iter().map(read).collect()
}
