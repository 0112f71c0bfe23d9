//! The tool descriptions that models read. They are short, repeat no line and mention no files or documents.

use crate::settings::Profile;

/// `lisp_eval` without upstreams.
pub(crate) const EVAL: &str = "Runs one PTC-Lisp program in a clean sandbox. The value of the last form is the answer. Calls do \
    not share state.";

/// How to look around among upstreams and call their tools.
const DISCOVERY: &str = "The configured upstreams are listed at the end. Inside a program you can look closer: \
    (tool/servers), (apropos \"text\" {:limit 8}), (dir \"server\" {:limit 20}), (doc \"server/tool\"); raw schemas: \
    (meta \"server/tool\"). Discovery only reads. To run a tool: (tool/call {:server \"s\" :tool \"t\" :args {...}}) gives \
    {:ok true :value v} or {:ok false :reason k :message text}; test :ok first. Unknown shape? Look at (keys (:value r)) \
    or (pr-str (:value r)). Give up with (fail (:message r)). Several calls: (map tool/call calls) or pmap.";

/// What one call of `lisp_eval` with upstreams is.
const ONE_PROGRAM: &str = "One program per call, last form is the answer, nothing is kept. Context is read as \
    data/<key>, never as bare data.";

/// `lisp_session_eval`.
const SESSION_EVAL: &str = "Evaluates PTC-Lisp in a session (session_id, program). def and defn stay for later evals; let \
    is temporary; *1 *2 *3 are recent results. output_schema checks the answer; if it does not match, nothing is stored.";

/// The language in a few lines.
pub const LANGUAGE: &str = "\
PTC-Lisp reference (a Clojure subset)
Forms: let fn defn #() if cond case loop/recur for doseq -> ->> destructuring; maps, vectors, sets, strings, regex, math.
Not available: lambda, let*, ns, require, import, macros, atoms, refs, futures, try/catch, lazy infinite seqs,
metadata, sorted-map, files, network, general Java.
JSON maps keep string keys: (get row \"status\"). Input: data/orders (not (data/orders)).
Example: (count (filter #(= \"paid\" (get % \"status\")) data/orders))
Fixed namespaces: json/parse-string json/generate-string str/join set/union; Double/parseDouble LocalDate/parse
System/currentTimeMillis and String methods. Help: apropos dir doc meta; ns-publics for local names.
Inspect with println, pr-str, keys. Stop with (fail reason). Parallel: pmap, pcalls.";

const NOTE_SLIM: &str = "Answers are plain text without structuredContent. Restart with --response-profile structured for \
    machine-readable results, or --debug-tool for diagnostics.";
const NOTE_SLIM_UPSTREAMS: &str = " Failed upstream calls are values inside the program; unhandled ones are summed up in \
    the error text.";
const NOTE_STRUCTURED: &str =
    "Answers carry a compact structuredContent plus short text; diagnostics are left out.";

/// The description of `lisp_eval`. `catalog` is there when upstreams are.
pub fn lisp_eval(profile: Profile, catalog: Option<&str>) -> String {
    let note = match profile {
        Profile::Slim if catalog.is_some() => Some(format!("{NOTE_SLIM}{NOTE_SLIM_UPSTREAMS}")),
        Profile::Slim => Some(NOTE_SLIM.to_owned()),
        Profile::Structured => Some(NOTE_STRUCTURED.to_owned()),
        Profile::Debug => None,
    };
    let parts: Vec<String> = match catalog {
        None => note.into_iter().chain([EVAL.to_owned(), LANGUAGE.to_owned()]).collect(),
        Some(catalog) => {
            let head = [format!("{DISCOVERY} {ONE_PROGRAM}"), LANGUAGE.to_owned(), catalog.to_owned()];
            head.into_iter().chain(note).collect()
        }
    };
    parts.join("\n\n")
}

/// The description of `lisp_session_eval`.
pub fn lisp_session_eval(catalog: Option<&str>) -> String {
    match catalog {
        None => [SESSION_EVAL, LANGUAGE].join("\n\n"),
        Some(catalog) => [&format!("{DISCOVERY} {SESSION_EVAL}"), LANGUAGE, catalog].join("\n\n"),
    }
}

/// `instructions` of the server: which tool to start with.
pub fn instructions(has_upstreams: bool, sessions: bool) -> String {
    let mut text =
        String::from("Call lisp_eval with a PTC-Lisp program; the value of its last form is the answer.");
    if has_upstreams {
        text.push_str(
            " Programs reach the tools of all configured upstream servers with tool/call, several at once.",
        );
    }
    if sessions {
        text.push_str(" lisp_session_start opens a session whose definitions stay for later programs.");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn static_texts_are_short_and_say_nothing_twice() {
        let all = [
            lisp_eval(Profile::Debug, None),
            lisp_eval(Profile::Debug, Some("")),
            lisp_session_eval(None),
            lisp_session_eval(Some("")),
        ];
        for text in all {
            let text = text.trim_end();
            assert!(text.len() <= 2000, "{} bytes", text.len());
            let lines: Vec<_> = text.lines().filter(|line| !line.is_empty()).collect();
            let mut unique = lines.clone();
            unique.sort_unstable();
            unique.dedup();
            assert_eq!(unique.len(), lines.len());
            assert!(!text.contains("  ") && !text.contains(".md"));
        }
        assert!(instructions(true, true).len() <= 400);
    }

    #[test]
    fn the_note_stands_where_the_mode_wants_it() {
        assert!(lisp_eval(Profile::Slim, None).starts_with("Answers are plain text"));
        let with = lisp_eval(Profile::Structured, Some("fs (2 tools)"));
        assert!(with.ends_with("fs (2 tools)\n\nAnswers carry a compact structuredContent plus short text; diagnostics are left out."));
        assert!(lisp_eval(Profile::Slim, Some("c")).contains("summed up in the error text."));
        assert!(!lisp_eval(Profile::Debug, None).contains("Answers"));
    }
}
