//! Checks that the entries' use of a model fits the process that reads them (waiting.md 3.2).

use super::file::UpstreamsConfig;
use ptc_base::config_error::ConfigWarning;

impl UpstreamsConfig {
    /// Warnings for an operator who has one half of sampling without the other: entries that let a model answer, and whether
    /// this process has one (`model`).
    pub fn sampling_warnings(&self, model: bool) -> Vec<ConfigWarning> {
        let mut wish = self.upstreams.iter().filter(|upstream| upstream.sampling).peekable();
        if model && wish.peek().is_none() {
            let text = "--sampling-model answers nobody: no upstream has \"sampling\": true";
            return vec![ConfigWarning::new("sampling_model_unused", None, text)];
        }
        let name = |name: &str| {
            let text = format_args!(
                "upstream {name} has \"sampling\": true, but no model answers it: name one with --sampling-model"
            )
            .to_string();
            ConfigWarning::new("upstream_sampling_without_model", Some(name), text)
        };
        wish.filter(|_| !model).map(|upstream| name(&upstream.name)).collect()
    }
}
