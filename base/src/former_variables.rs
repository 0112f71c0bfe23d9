//! The former names of this product's variables (ruling 70).

use crate::environment::ProcessEnv;

/// Each variable began with one of these; now all begin with [`PREFIX`]. The longer prefix comes first.
const FORMER_PREFIXES: [&str; 2] = ["PTC_RUNNER_MCP_", "PTC_RUNNER_"];
const PREFIX: &str = "PTC_";

impl ProcessEnv {
    /// A variable of this product that is set under its name and, to another value, under its former one: the intended one is
    /// unknown. `None` if there is none. Empty variables are not set.
    pub fn contradiction(&self) -> Option<String> {
        self.iter().find_map(|(former, value)| {
            let former = former.to_str()?;
            let rest = FORMER_PREFIXES.iter().find_map(|prefix| former.strip_prefix(prefix))?;
            let name = format!("{PREFIX}{rest}");
            let present = self.get(&name).filter(|present| !present.is_empty())?;
            (!value.is_empty() && present != value).then(|| {
                format!("{name} and {former}, its former name, are set to different values: unset {former}")
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_names_of_one_variable_say_the_same() {
        let contradiction = |env: &[(&str, &str)]| ProcessEnv::from_iter(env.iter().copied()).contradiction();
        for fine in [
            &[("PTC_SESSIONS", "1"), ("PTC_RUNNER_MCP_SESSIONS", "1")][..],
            &[("PTC_SESSIONS", ""), ("PTC_RUNNER_MCP_SESSIONS", "1")],
            &[("PTC_SESSIONS", "1"), ("PTC_RUNNER_MCP_SESSIONS", "")],
            // Two commands, each with a variable of its own.
            &[("PTC_RUNNER_UPSTREAMS", "a"), ("PTC_RUNNER_MCP_UPSTREAMS", "b")],
            &[("PTC_UPSTREAMS", "a")],
        ] {
            assert_eq!(contradiction(fine), None, "{fine:?}");
        }
        assert_eq!(
            contradiction(&[
                ("PTC_HTTP_AUTH_TOKEN", "sekrit"),
                ("PTC_RUNNER_MCP_HTTP_AUTH_TOKEN", "sekrit2")
            ])
            .unwrap(),
            "PTC_HTTP_AUTH_TOKEN and PTC_RUNNER_MCP_HTTP_AUTH_TOKEN, its former name, are set to different values: \
             unset PTC_RUNNER_MCP_HTTP_AUTH_TOKEN"
        );
        for former in ["PTC_RUNNER_UPSTREAMS", "PTC_RUNNER_MCP_UPSTREAMS"] {
            let text = contradiction(&[("PTC_UPSTREAMS", "a"), (former, "b")]).unwrap();
            assert!(text.ends_with(&format!("unset {former}")), "{text}");
        }
    }
}
