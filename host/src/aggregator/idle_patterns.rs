//! Patterns of `--expose` and of the policy's rules on arguments that fit no tool: the operator is told of each once.

use crate::catalog::{Catalog, Exposure};
use ptc_base::name_pattern::NamePattern;
use ptc_base::sync::Mutex;
use ptc_policy::Policy;
use std::collections::HashSet;

/// The patterns that the operator was told of.
#[derive(Default)]
pub(super) struct IdlePatterns(Mutex<HashSet<String>>);

impl IdlePatterns {
    /// Tells of the patterns that fit none of the tools that were listed, once all upstreams that they are about are.
    pub(super) fn tell(&self, catalog: &Catalog, exposure: Option<&Exposure>, policy: Option<&Policy>) {
        for pattern in exposure.map(|exposure| exposure.idle(catalog)).unwrap_or_default() {
            if self.is_new(format!("expose {pattern}")) {
                tracing::warn!(
                    event = "expose_names_no_tool",
                    "--expose tools={pattern} fits no tool of the upstreams"
                );
            }
        }
        let is_idle = |upstreams: &_, tools: &_| idle_in(catalog, upstreams, tools);
        for (upstream, tools) in policy.map(|policy| policy.idle_arguments(is_idle)).unwrap_or_default() {
            if self.is_new(format!("policy {upstream} {tools}")) {
                tracing::warn!(
                    event = "policy_names_no_tool",
                    "the policy has rules on the arguments of '{tools}' of '{upstream}', and no tool there has that name"
                );
            }
        }
    }

    fn is_new(&self, told: String) -> bool {
        self.0.lock().insert(told)
    }
}

/// Whether a pattern fits no tool of the upstreams that another one fits, which all are listed. That there are none is told elsewhere.
fn idle_in(catalog: &Catalog, upstreams: &NamePattern, tools: &NamePattern) -> bool {
    let mut about = catalog.servers().filter(|server| upstreams.matches(&server.name)).peekable();
    about.peek().is_some()
        && about.all(|server| server.loaded && !server.all_names().any(|name| tools.matches(name)))
}
