//! What each target checks. An oracle takes the fuzzer's bytes and panics when a promise is broken.

#[cfg(feature = "server")]
mod audit;
mod callback;
mod challenge;
mod config;
mod differential;
mod fetch_address;
mod json;
mod jsonrpc;
pub(crate) mod jwt;
mod metadata;
mod openapi;
mod pin_lock;
mod policy;
mod program;
#[cfg(feature = "server")]
mod protocol;
mod reader;
mod restore;
mod roundtrip;
mod session_blob;
mod sse;
mod suspend;
mod text;
mod token_machine;

#[cfg(feature = "server")]
pub use audit::audit;
#[cfg(feature = "server")]
pub(crate) use audit::files as audit_files;
pub use callback::callback;
pub use challenge::challenge;
pub use config::config;
pub use differential::differential;
pub use fetch_address::fetch_address;
pub use json::json;
pub use jsonrpc::jsonrpc;
pub use jwt::jwt;
pub use metadata::metadata;
pub use openapi::openapi;
pub use pin_lock::pin_lock;
pub use policy::policy;
pub use program::program;
#[cfg(feature = "server")]
pub use protocol::protocol;
pub use reader::reader;
pub use restore::restore;
pub use roundtrip::roundtrip;
pub use session_blob::session_blob;
pub use sse::sse;
pub use suspend::suspend;
pub use text::{compile, vm};
pub use token_machine::token_machine;

/// An oracle.
pub type Check = fn(&[u8]);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mutate::Random;

    /// Bytes made at random, the same on every run.
    fn noise(seed: u64) -> Vec<u8> {
        let mut random = Random::new(seed);
        let length = 16 + random.below(500);
        (0..length).map(|_| random.byte()).collect()
    }

    /// An oracle over programs that do not compile would check nothing.
    #[test]
    fn most_generated_programs_compile_and_many_give_a_value() {
        let _alone = crate::bounds::alone();
        use crate::generate::{Choices, programs};
        use crate::run::{LIMITS, PLAIN_HOST, compiled, run};
        for tools in [false, true] {
            let texts = (0..200).map(|seed| {
                let data = noise(seed);
                programs::program(&mut Choices::new(&data), programs::Powers { tools })
            });
            let programs: Vec<_> = texts.filter_map(|text| compiled(&text)).collect();
            let good =
                programs.iter().filter(|p| run(p, LIMITS, u64::MAX, PLAIN_HOST).result.is_ok()).count();
            assert!(programs.len() > 100 && good > 20, "{} compile, {good} give a value", programs.len());
        }
    }

    #[test]
    fn the_evaluator_knows_most_of_what_the_core_generator_writes() {
        let _alone = crate::bounds::alone();
        use crate::evaluator::{Stop, evaluate};
        use crate::generate::{Choices, core::core};
        let endings: Vec<_> = (0..300).map(|seed| evaluate(&core(&mut Choices::new(&noise(seed))))).collect();
        let values = endings.iter().filter(|ending| ending.is_ok()).count();
        let open = endings.iter().filter(|ending| matches!(ending, Err(Stop::Open | Stop::Recur(_)))).count();
        assert!(values > 60 && open < 150, "{values} values, {open} left open, of {}", endings.len());
    }

    /// What once took 27 seconds, and its family: neither memory nor time without an account.
    #[test]
    fn short_texts_that_ask_for_much_stay_within_their_bounds() {
        let _alone = crate::bounds::alone();
        let tree =
            "(let [t (reduce (fn [a _] [a a]) [1] (range 60)) u (reduce (fn [a _] [a a]) [1] (range 60))]";
        let mut texts = vec![
            format!("[{}]", r##"#"\w{40}N" "##.repeat(4_984)),
            format!(
                "[{}]",
                (0..3_000).map(|n| format!(r##"#"(?:\w\p{{L}}){{8}}{n}" "##)).collect::<String>()
            ),
            format!("{tree} (= t u))"),
            format!("{tree} [(hash t) (count (str u))])"),
            format!("{tree} (distinct [t u]))"),
        ];
        use crate::generate::{Choices, greedy::greedy};
        texts.extend((0..300).map(|seed| greedy(&mut Choices::new(&noise(seed)))));
        let greedy =
            texts.into_iter().filter(|text| std::panic::catch_unwind(|| vm(text.as_bytes())).is_err());
        let greedy: Vec<String> = greedy.map(|text| text.chars().take(300).collect()).collect();
        assert!(greedy.is_empty(), "{} break a promise: {greedy:#?}", greedy.len());
    }
}
