//! Finds misspelt variables of this product.

use ptc_host::config::{ProcessEnv, REPL_VARIABLE, SERVER_VARIABLE};
use ptc_host::similar::most_similar;
use ptc_host::visible::visible_line;

use super::flags::ALL;

/// Variables of ours that belong to no option.
const OTHERS: [&str; 2] = ["PTC_AGENT_MODEL", "PTC_CA_FILE"];
/// The prefixes of variables of this product's builds and tests.
const NOT_OURS: [&str; 2] = ["PTC_BUILD_", "PTC_TEST_"];

/// A sentence for each unknown variable with our prefix. It has no effect unless the upstreams file names it.
pub(crate) fn unknown(env: &ProcessEnv) -> Vec<String> {
    let flags = ALL.iter().flat_map(|group| group.flags).flat_map(|flag| flag.variables());
    let others = OTHERS.into_iter().chain(SERVER_VARIABLE).chain(REPL_VARIABLE).map(str::to_owned);
    let known: Vec<String> = flags.chain(others).collect();
    let set = env.iter().filter_map(|(name, _)| name.to_str());
    let odd = set
        .filter(|name| name.starts_with("PTC_") && !NOT_OURS.iter().any(|prefix| name.starts_with(prefix)));
    let odd = odd.filter(|name| !known.iter().any(|known| known == name));
    odd.map(|name| {
        let names = known.iter().map(String::as_str).filter(|known| !known.starts_with("PTC_RUNNER_"));
        let meant =
            most_similar(name, names).map(|name| format!("; did you mean {name}?")).unwrap_or_default();
        format!("the variable {} is none of ptc's own{meant}", visible_line(name))
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_variable_is_told_and_the_known_ones_are_not() {
        let told = |names: &[&str]| unknown(&ProcessEnv::from_iter(names.iter().map(|name| (*name, "1"))));
        assert_eq!(
            told(&["PTC_HTTP_PORTT"]),
            ["the variable PTC_HTTP_PORTT is none of ptc's own; did you mean PTC_HTTP_PORT?"]
        );
        assert_eq!(told(&["PTC_XYZZY"]), ["the variable PTC_XYZZY is none of ptc's own"]);
        for known in [
            "PTC_HTTP_PORT",
            "PTC_UPSTREAMS",
            "PTC_RUNNER_UPSTREAMS",
            "PTC_RUNNER_MCP_SESSIONS",
            "PTC_TEST_X",
            "HOME",
        ] {
            assert_eq!(told(&[known]), [""; 0], "{known}");
        }
    }
}
