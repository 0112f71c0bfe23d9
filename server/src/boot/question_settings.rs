//! Decides which questions to people are enabled, from the operator's configuration (waiting.md 4.4 and ruling 80).

use ptc_host::config::UpstreamConfig;

use ptc_protocol::settings::Settings;

/// The facts about people in the settings and the entries of the upstreams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct People {
    /// True if descriptions mention `ask`: questions, approvals or OAuth are configured, and not switched off.
    pub(super) are_asked: bool,
    /// True if runs are stored that wait for people whom no client asks. The default is on if an upstream has approvals
    /// or sign-ins.
    pub(super) have_kept_programs: bool,
    /// True if the file of a state folder is opened for these runs. Only one process can have the file, and many
    /// processes on pipes may share the folder for their sign-ins, so by default only an HTTP server opens it.
    pub(super) have_the_file: bool,
}

impl People {
    /// Whether these need a part of the server that the others do without.
    pub(super) fn asks_more_than(self, other: People) -> bool {
        (self.are_asked && !other.are_asked) || (self.have_kept_programs && !other.have_kept_programs)
    }

    /// Decides for a server with these upstreams.
    pub(super) fn of<'c>(
        settings: &Settings,
        upstreams: impl IntoIterator<Item = &'c UpstreamConfig>,
    ) -> People {
        let questions = &settings.questions;
        let needs =
            |config: &UpstreamConfig| !config.approval.is_never() || config.transport.oauth().is_some();
        let is_said = questions.mode.is_some();
        let are_needed = !is_said && upstreams.into_iter().any(needs);
        let keeps = if is_said { settings.runs.keeps } else { are_needed };
        People {
            are_asked: questions.are_on() && (is_said || are_needed),
            have_kept_programs: keeps,
            have_the_file: keeps && (is_said || settings.http.is_some()),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Command;
    use ptc_host::config::{LoadOptions, ProcessEnv, UpstreamsConfig};
    use ptc_mcp::json::{Value, json};

    use super::*;
    use crate::options::command::arguments;
    use crate::options::flags::ALL;

    /// The decisions for these flags, and an entry that has `more` besides a command or a URL.
    fn people(flags: &[&str], more: Value) -> People {
        let given = std::iter::once("start").chain(flags.iter().copied());
        let matches = Command::new("start").args(arguments(&ALL)).get_matches_from(given);
        let settings = crate::options::resolve(&matches, ProcessEnv::default()).unwrap();
        let mut entry = match more.get("auth") {
            None => json!({"transport": "mcp_stdio", "command": "true"}),
            Some(_) => json!({"transport": "mcp_http", "url": "https://shop.example/mcp"}),
        };
        for (key, value) in more.as_object().unwrap() {
            entry[key] = value.clone();
        }
        let env = ProcessEnv::default();
        let options = LoadOptions { env: &env, base_dir: None, own_exe: None };
        let config = UpstreamsConfig::from_value(&json!({"upstreams": {"shop": entry}}), &options).unwrap();
        People::of(&settings, &config.upstreams)
    }

    #[test]
    fn people_are_asked_where_questions_approvals_or_oauth_are_configured() {
        let (plain, http) = (json!({}), ["--http", "--http-disable-auth"]);
        let approvals = json!({"approve": "writes"});
        let tools = json!({"approve_tools": ["close"]});
        let oauth = json!({"auth": {"type": "oauth"}});
        let told = |flags: &[&str], more: &Value| {
            let People { are_asked, have_kept_programs, have_the_file } = people(flags, more.clone());
            (are_asked, have_kept_programs, have_the_file)
        };
        // An aggregator alone enables nothing.
        assert_eq!(told(&[], &plain), (false, false, false));
        assert_eq!(told(&http, &plain), (false, false, false));
        for needed in [&approvals, &tools, &oauth] {
            assert_eq!(told(&http, needed), (true, true, true), "{needed}");
            assert_eq!(told(&[], needed), (true, true, false), "{needed}");
        }
        assert_eq!(told(&[], &json!({"approve": "never"})), (false, false, false));
        // The operator's explicit choice prevails.
        for more in [&plain, &approvals, &oauth] {
            assert_eq!(told(&["--questions=auto"], more), (true, true, true), "{more}");
            assert_eq!(told(&["--questions=client"], more), (true, false, false), "{more}");
            assert_eq!(told(&["--questions=off"], more), (false, false, false), "{more}");
        }
    }
}
