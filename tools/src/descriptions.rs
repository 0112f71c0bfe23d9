//! The tool descriptions that models read. They are short, repeat no line and mention no files or documents.

use ptc_host::policy::Authority;
use ptc_host::sync::RwLock;
use std::sync::Arc;
use std::time::Duration;

use ptc_protocol::LongText;
use ptc_protocol::settings::Profile;

/// Length at which clients truncate a description, in characters.
const CUT: usize = 2048;

/// Longest enumeration of servers, in characters, without its end.
const MAX_NAMES: usize = 80;

/// `lisp_eval` without upstreams.
const EVAL: &str = "Runs one PTC-Lisp program in a clean sandbox. The value of the last form is the answer. Calls do \
    not share state.";

/// How to explore upstreams and call their tools. `SERVERS` stands for their names, `LOOK` for the place of their
/// descriptions, `CAPS` for the caps of a program. Some clients show only the first line before a model asks for the
/// tool.
const DISCOVERY: &str = "Runs a program that calls the tools of SERVERS, LOOK \
    (tool/servers), (dir \"server\" {:limit 20}), (apropos \"text\" {:limit 8}); raw schemas: (meta \"server/tool\"). \
    To run a tool: (tool/call {:server \"s\" :tool \"t\" :args {...}}) gives {:ok true :value v}, v parsed if \
    it is JSON text, or {:ok false :reason k :message text}; test :ok first. Unknown shape? Print (pr-str (:value r)): \
    prints are shown (16 KiB, 200 lines), before an error too. Give up with (fail (:message r)). Several calls: \
    (map tool/call calls) or pmap. CAPS";

/// `LOOK` if only the servers are listed.
const LOOK_FIRST: &str = "listed at the end. Look first; this only reads: (doc \"server\") lists a server's tools \
    with arguments and results, (doc \"server/tool\") tells all of one;";

/// `LOOK` if all tools are listed. `PLACE` stands for the place.
const ALL_LISTED: &str = "all listed PLACE: under each its {arguments}, with ? if optional, ≤ the largest number, = the \
    values, and behind → its result. Write the whole program at once: guess fields that are not listed (a note names those \
    that there are), and print a sample. To see more, reading only: (doc \"server/tool\"), \
    (doc \"server\"),";

/// The rules for one call of `lisp_eval` with upstreams.
const ONE_PROGRAM: &str = "One program per call, last form is the answer, nothing is kept.";

/// `program`.
pub(crate) const PROGRAM: &str = "PTC-Lisp source; must contain more than whitespace.";

/// `lisp_session_eval`.
const SESSION_EVAL: &str = "Evaluates PTC-Lisp in a session (session_id, program). def and defn stay for later evals; let \
    is temporary; *1 *2 *3 are recent results. output_schema checks the answer; if it does not match, nothing is stored.";

/// The language in a few lines.
pub const LANGUAGE: &str = "\
PTC-Lisp reference (a Clojure subset)
Forms: let fn defn #() if cond case loop/recur for doseq -> ->> destructuring; maps, vectors, sets, strings, regex, math, endless (range).
Not available: macros, atoms, futures, try/catch, metadata, files, network, other Java.
JSON maps keep string keys: (get row \"status\"). Context: data/orders (not (data/orders)).
Example: (count (filter #(= \"paid\" (get % \"status\")) data/orders))
Namespaces: json/parse-string json/generate-string str/join set/union; Double/parseDouble LocalDate/parse, String methods.
Help: apropos dir doc meta. Stop with (fail reason).";

/// How a program asks the user, if people can be asked.
const ASK: &str = "(ask {:message \"Which?\" :schema {...}}) asks the user: {:ok true :value {...}}. No :schema: yes or no.";

/// Hints that save models a second program, most useful first: as many lines as fit below [`CUT`].
const HINTS: [&str; 6] = [
    "(tool/call! {...}) gives v or fails; (tool/pages {...}) gives all items of all pages as one vector.",
    "(json/parse-lenient text) reads Python literals, (csv/parse-string text) CSV.",
    "Dates: (day-name (LocalDate/parse \"2026-03-01\")) is Sunday.",
    "JSON lines: (json/parse-lines text). Decimals: (format \"%.2f\" x).",
    "Time zones: (in-zone instant \"Europe/Berlin\"). A pause: (sleep-ms 500).",
    "Print with println. An answer of several lines: (str/join \"\\n\" lines).",
];

const NOTE_SLIM: &str = "Answers are plain text without structuredContent.";
const NOTE_STRUCTURED: &str =
    "Answers carry a compact structuredContent plus short text; diagnostics are left out.";

/// The facts about upstreams in descriptions.
#[derive(Clone, Debug, Default)]
pub struct UpstreamCard {
    /// Their names, as many as fit into a sentence.
    pub servers: String,
    /// The servers, and their tools as far as they fit a truncated description.
    pub catalog: String,
    /// The servers and their tools for a description that is not truncated, if that is more.
    pub whole: Option<String>,
    /// Most `tool/call`s of one program.
    pub max_calls: u32,
}

/// Makes the card of one caller, whom the policy may not show all upstreams; without an authority, of everything.
type CardOfCaller = dyn Fn(Option<&Arc<Authority>>) -> UpstreamCard + Send + Sync;

/// The [`UpstreamCard`] of a server, which changes once: when all upstreams have started.
#[derive(Clone)]
pub struct SharedCard {
    card: Arc<RwLock<UpstreamCard>>,
    of_caller: Option<Arc<CardOfCaller>>,
    /// Whether it is made each time, because it tells of what changes by itself: kept programs.
    is_made_anew: bool,
}

impl SharedCard {
    /// A shared card with this content.
    pub fn new(card: UpstreamCard) -> Self {
        SharedCard { card: Arc::new(RwLock::new(card)), of_caller: None, is_made_anew: false }
    }

    /// The same, whose content differs by caller.
    #[must_use]
    pub fn by_caller(
        self,
        of_caller: impl Fn(Option<&Arc<Authority>>) -> UpstreamCard + Send + Sync + 'static,
    ) -> Self {
        SharedCard { of_caller: Some(Arc::new(of_caller)), ..self }
    }

    /// The same, whose content is made each time that it is asked for, also without an authority.
    #[must_use]
    pub fn made_anew(self) -> Self {
        SharedCard { is_made_anew: true, ..self }
    }

    /// The current content: for the caller of this authority, or of everything.
    pub fn get(&self, authority: Option<&Arc<Authority>>) -> UpstreamCard {
        match &self.of_caller {
            Some(of_caller) if self.is_made_anew || authority.is_some() => of_caller(authority),
            _ => self.card.read().clone(),
        }
    }

    /// Replaces the content.
    pub fn set(&self, card: UpstreamCard) {
        *self.card.write() = card;
    }
}

impl UpstreamCard {
    fn discovery(&self, timeout: Duration, long_text: LongText) -> String {
        let plural = if self.max_calls == 1 { "" } else { "s" };
        let caps = format!(
            "A program may make {} call{plural} and run {} s.",
            self.max_calls,
            timeout.as_secs_f64()
        );
        let look = match (&self.whole, long_text) {
            (None, _) | (_, LongText::Nowhere) => LOOK_FIRST.to_owned(),
            (Some(_), LongText::Tool) => ALL_LISTED.replace("PLACE", "at the end"),
            (Some(_), LongText::Parameter) => ALL_LISTED.replace("PLACE", "in the description of `program`"),
        };
        DISCOVERY.replace("LOOK", &look).replace("SERVERS", &self.servers).replace("CAPS", &caps)
    }

    /// The end of a description.
    fn tail(&self, long_text: LongText) -> &str {
        match (&self.whole, long_text) {
            (Some(whole), LongText::Tool) => whole,
            _ => &self.catalog,
        }
    }
}

/// The names of servers for a sentence to a model: `files, git and time`, `files, git and 22 more`.
pub fn sentence_of<'n>(names: impl Iterator<Item = &'n str>) -> String {
    let names: Vec<&str> = names.collect();
    let mut shown = 0;
    let mut length = 0;
    for name in &names {
        length += name.chars().count() + 2;
        if length > MAX_NAMES && shown > 0 {
            break;
        }
        shown += 1;
    }
    let more = match names.len() - shown {
        0 => None,
        hidden => Some(format!("{hidden} more")),
    };
    let mut parts: Vec<String> =
        names.iter().take(shown).map(|name| clip(name, MAX_NAMES).to_owned()).chain(more).collect();
    match parts.pop() {
        None => "upstream servers".to_owned(),
        Some(last) if parts.is_empty() => last,
        Some(last) => format!("{} and {last}", parts.join(", ")),
    }
}

/// The first characters of `text`, at most `limit`.
fn clip(text: &str, limit: usize) -> &str {
    text.char_indices().nth(limit).map_or(text, |(at, _)| &text[..at])
}

/// The description of `lisp_eval`. The card is there when upstreams are, and `programs` lists kept programs where there are none;
/// `timeout` is that of a program.
pub fn lisp_eval(
    profile: Profile,
    upstreams: Option<&UpstreamCard>,
    programs: Option<&str>,
    timeout: Duration,
    tells_of_ask: bool,
    long_text: LongText,
) -> String {
    let note = match profile {
        Profile::Slim => Some(NOTE_SLIM.to_owned()),
        Profile::Structured => Some(NOTE_STRUCTURED.to_owned()),
        Profile::Debug => None,
    };
    let composed = |language: &str| {
        let parts: Vec<String> = match upstreams {
            None => {
                let text = [EVAL, language].into_iter().chain(programs);
                note.iter().cloned().chain(text.map(str::to_owned)).collect()
            }
            Some(card) => {
                let cards = format!("{} {ONE_PROGRAM}", card.discovery(timeout, long_text));
                let head = [cards, language.to_owned(), card.tail(long_text).to_owned()];
                head.into_iter().chain(note.clone()).collect()
            }
        };
        parts.join("\n\n")
    };
    let limit = match (upstreams.and_then(|card| card.whole.as_ref()), long_text) {
        (Some(_), LongText::Tool) => usize::MAX,
        _ => CUT,
    };
    with_hints(upstreams.is_some(), tells_of_ask, limit, composed)
}

/// The description of `program` for a client that passes on a long one: its purpose, the tools that it can call, and
/// the hints that do not fit into `description`, that of the tool.
pub(crate) fn program(whole: &str, description: &str) -> String {
    let hints = HINTS.into_iter().filter(|hint| !description.contains(hint));
    hints.fold(format!("{PROGRAM} What it can call:\n\n{whole}\n"), |text, hint| format!("{text}\n{hint}"))
}

/// A description of fewer characters than `limit` whose language card mentions `ask` if required, and has as many
/// hints as fit.
fn with_hints(
    has_upstreams: bool,
    tells_of_ask: bool,
    limit: usize,
    composed: impl Fn(&str) -> String,
) -> String {
    let mut language = LANGUAGE.to_owned();
    if tells_of_ask {
        language.push('\n');
        language.push_str(ASK);
    }
    let mut room = (limit - 1).saturating_sub(composed(&language).chars().count());
    for hint in HINTS.into_iter().filter(|hint| has_upstreams || !hint.starts_with("(tool/")) {
        if hint.len() + 1 > room {
            break;
        }
        room -= hint.len() + 1;
        language.push('\n');
        language.push_str(hint);
    }
    composed(&language)
}

/// The description of `lisp_session_eval`.
pub fn lisp_session_eval(
    upstreams: Option<&UpstreamCard>,
    programs: Option<&str>,
    timeout: Duration,
    tells_of_ask: bool,
) -> String {
    with_hints(upstreams.is_some(), tells_of_ask, CUT, |language| match upstreams {
        None => [SESSION_EVAL, language].into_iter().chain(programs).collect::<Vec<_>>().join("\n\n"),
        Some(card) => {
            let cards = format!("{} {SESSION_EVAL}", card.discovery(timeout, LongText::Nowhere));
            [cards.as_str(), language, &card.catalog].join("\n\n")
        }
    })
}

/// The characters that a list of kept programs may have beside descriptions without upstreams.
pub fn programs_room(profile: Profile, tells_of_ask: bool) -> usize {
    // No hint fits beside this list, so the rest of the text has a fixed length.
    let programs = "x".repeat(CUT);
    let (timeout, programs) = (Duration::ZERO, Some(programs.as_str()));
    let texts = [
        lisp_eval(profile, None, programs, timeout, tells_of_ask, LongText::Nowhere),
        lisp_session_eval(None, programs, timeout, tells_of_ask),
    ];
    let longest = texts.iter().map(|text| text.chars().count()).max().unwrap_or_default();
    (2 * CUT - 1).saturating_sub(longest)
}

/// The characters that a catalog may have so that no client truncates a description that ends with it.
pub fn catalog_room(
    profile: Profile,
    servers: &str,
    max_calls: u32,
    timeout: Duration,
    tells_of_ask: bool,
) -> usize {
    // No hint fits beside this catalog, so the rest of the text has a fixed length.
    let card = UpstreamCard {
        servers: servers.to_owned(),
        catalog: "x".repeat(CUT),
        whole: Some(String::new()),
        max_calls,
    };
    let eval = |long_text| lisp_eval(profile, Some(&card), None, timeout, tells_of_ask, long_text);
    let texts = [
        eval(LongText::Nowhere),
        eval(LongText::Parameter),
        lisp_session_eval(Some(&card), None, timeout, tells_of_ask),
    ];
    let longest = texts.iter().map(|text| text.chars().count()).max().unwrap_or_default();
    (2 * CUT - 1).saturating_sub(longest)
}

/// `instructions` of the server: the tool to start with, and what it reaches. Some clients pass on only this text.
pub fn instructions(servers: Option<&str>, sessions: bool) -> String {
    let mut text =
        String::from("Call lisp_eval with a PTC-Lisp program; the value of its last form is the answer.");
    if let Some(servers) = servers {
        text.push_str(&format!(
            " Programs reach the tools of {servers} with tool/call, several at once. Where the arguments of \
             a tool are not listed, first print (doc \"server\") of each server that you need. One program a task is mostly \
             enough."
        ));
    }
    if sessions {
        text.push_str(" lisp_session_start opens a session whose definitions stay for later programs.");
    }
    text
}

/// The same of a server that offers no programs of the client's own: it has the tools of these upstreams, kept programs, or both.
pub fn offered_instructions(servers: Option<&str>, has_programs: bool) -> String {
    let exposed = servers.map(|servers| format!("The tools of {servers}, each named SERVER__TOOL."));
    let kept =
        has_programs.then(|| "Programs that people have written and approved, each a tool.".to_owned());
    kept.into_iter().chain(exposed).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEN_SECONDS: Duration = Duration::from_secs(10);

    /// For a client that truncates descriptions.
    fn lisp_eval(
        profile: Profile,
        upstreams: Option<&UpstreamCard>,
        timeout: Duration,
        tells_of_ask: bool,
    ) -> String {
        super::lisp_eval(profile, upstreams, None, timeout, tells_of_ask, LongText::Nowhere)
    }

    fn card(catalog: &str) -> UpstreamCard {
        UpstreamCard {
            servers: "upstream servers".to_owned(),
            catalog: catalog.to_owned(),
            whole: None,
            max_calls: 50,
        }
    }

    #[test]
    fn static_texts_are_short_and_say_nothing_twice() {
        let all = [false, true].map(|tells| {
            [
                lisp_eval(Profile::Debug, None, TEN_SECONDS, tells),
                lisp_eval(Profile::Debug, Some(&card("")), TEN_SECONDS, tells),
                lisp_session_eval(None, None, TEN_SECONDS, tells),
                lisp_session_eval(Some(&card("")), None, TEN_SECONDS, tells),
            ]
        });
        for text in all.into_iter().flatten() {
            let text = text.trim_end();
            assert!(text.len() < CUT, "{} bytes", text.len());
            let lines: Vec<_> = text.lines().filter(|line| !line.is_empty()).collect();
            let mut unique = lines.clone();
            unique.sort_unstable();
            unique.dedup();
            assert_eq!(unique.len(), lines.len());
            assert!(!text.contains("  ") && !text.contains(".md"));
        }
        assert!(instructions(Some(&"x".repeat(MAX_NAMES)), true).len() <= 480);
    }

    #[test]
    fn a_catalog_that_fits_its_room_keeps_the_description_under_the_cut() {
        for profile in [Profile::Slim, Profile::Structured, Profile::Debug] {
            for (calls, timeout, tells, least) in [
                (50, TEN_SECONDS, false, 300),
                (u32::MAX, Duration::from_millis(86_399_999), false, 300),
                (u32::MAX, Duration::from_millis(86_399_999), true, 200),
            ] {
                let servers = "n".repeat(MAX_NAMES);
                let room = catalog_room(profile, &servers, calls, timeout, tells);
                assert!(room >= least, "{room}");
                let (catalog, whole) = ("ö".repeat(room), Some("more".to_owned()));
                let card = UpstreamCard { servers, catalog, whole, max_calls: calls };
                let texts = [
                    lisp_eval(profile, Some(&card), timeout, tells),
                    super::lisp_eval(profile, Some(&card), None, timeout, tells, LongText::Parameter),
                    lisp_session_eval(Some(&card), None, timeout, tells),
                ];
                let lengths = texts.map(|text| text.chars().count());
                assert_eq!(lengths.into_iter().max(), Some(CUT - 1), "{lengths:?}");
            }
        }
    }

    #[test]
    fn the_first_line_names_the_servers() {
        let named = |names: &[&str]| sentence_of(names.iter().copied());
        assert_eq!(named(&[]), "upstream servers");
        assert_eq!(named(&["fs"]), "fs");
        assert_eq!(named(&["files", "git", "time"]), "files, git and time");
        let many: Vec<String> = (0..24).map(|at| format!("server-{at}")).collect();
        assert_eq!(
            sentence_of(many.iter().map(String::as_str)),
            "server-0, server-1, server-2, server-3, server-4, server-5, server-6, server-7 and 16 more"
        );
        assert_eq!(named(&["é".repeat(300).as_str(), "b"]), format!("{} and 1 more", "é".repeat(80)));
        let card = UpstreamCard { servers: named(&["files", "git"]), ..card("") };
        let text = lisp_eval(Profile::Slim, Some(&card), TEN_SECONDS, false);
        assert!(text.starts_with("Runs a program that calls the tools of files and git, listed at the end."));
        assert!(
            instructions(Some("files and git"), false).contains("the tools of files and git with tool/call")
        );
    }

    #[test]
    fn a_whole_catalog_stands_where_the_client_hands_it_on() {
        let whole = "- fs: 30 tools\n".repeat(300);
        let card = UpstreamCard { whole: Some(whole.clone()), ..card("- fs: 30 tools.") };
        let of =
            |long_text| super::lisp_eval(Profile::Slim, Some(&card), None, TEN_SECONDS, false, long_text);
        let [cut, tool, beside] = LongText::ALL.map(of);
        assert!(cut.chars().count() < CUT && cut.contains(", listed at the end. Look first;"), "{cut}");
        assert!(tool.contains(&whole) && tool.contains(", all listed at the end:"), "{tool}");
        assert!(HINTS.iter().all(|hint| tool.contains(hint)), "there is room for all of them");
        assert!(beside.chars().count() < CUT && beside.contains("- fs: 30 tools."));
        assert!(beside.contains(", all listed in the description of `program`:"), "{beside}");
        let same = UpstreamCard { whole: None, ..card.clone() };
        for long_text in LongText::ALL {
            let text = super::lisp_eval(Profile::Slim, Some(&same), None, TEN_SECONDS, false, long_text);
            assert_eq!(text, cut, "what fits a cut description is the same for all");
        }
    }

    #[test]
    fn ask_is_told_of_where_people_can_be_asked_and_nowhere_else() {
        // Also if the catalog takes all the available space.
        let room = catalog_room(Profile::Slim, "files", 50, TEN_SECONDS, true);
        for card in [None, Some(card("")), Some(card(&"x".repeat(room)))] {
            for tells in [true, false] {
                let texts = [
                    lisp_eval(Profile::Slim, card.as_ref(), TEN_SECONDS, tells),
                    lisp_session_eval(card.as_ref(), None, TEN_SECONDS, tells),
                ];
                for text in texts {
                    assert_eq!(
                        text.lines().filter(|line| *line == ASK).count(),
                        usize::from(tells),
                        "{text}"
                    );
                    assert_eq!(text.contains("(ask "), tells);
                }
            }
        }
    }

    #[test]
    fn the_card_names_the_caps() {
        let told = |max_calls, milliseconds| {
            let card = UpstreamCard { max_calls, ..UpstreamCard::default() };
            lisp_eval(Profile::Debug, Some(&card), Duration::from_millis(milliseconds), false)
        };
        assert!(told(250, 30_000).contains("A program may make 250 calls and run 30 s."));
        assert!(told(1, 1_500).contains("A program may make 1 call and run 1.5 s."));
    }

    #[test]
    fn the_note_stands_where_the_mode_wants_it() {
        assert!(lisp_eval(Profile::Slim, None, TEN_SECONDS, false).starts_with("Answers are plain text"));
        let with = lisp_eval(Profile::Structured, Some(&card("fs (2 tools)")), TEN_SECONDS, false);
        assert!(with.ends_with("fs (2 tools)\n\nAnswers carry a compact structuredContent plus short text; diagnostics are left out."));
        assert!(!lisp_eval(Profile::Debug, None, TEN_SECONDS, false).contains("Answers"));
    }
}
