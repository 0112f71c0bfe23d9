//! The engine for almost all patterns: automata that take time linear in the text.

use super::classes::push_char;
use super::syntax::{Assertion, Greed, Node};
use regex_automata::meta::{BuildError, Cache, Config, Regex};
use regex_automata::util::captures::Captures;
use regex_automata::{Anchored, Input};
use smallvec::SmallVec;
use std::cell::OnceCell;

/// Byte ranges of the whole match and of the groups.
pub(super) type Groups = SmallVec<[Option<(usize, usize)>; 4]>;

/// Most bytes that a compiled pattern may take (ruling 7).
const SIZE_LIMIT: usize = 1 << 20;
/// Bytes of scratch memory for lazily built states.
const CACHE_LIMIT: usize = 256 << 10;

/// A pattern as automata.
#[derive(Debug)]
pub(super) struct Linear {
    node: Node,
    find: Regex,
    /// As `find`, where the text's only line feed is its last character.
    before_final_newline: OnceCell<Option<Regex>>,
    /// Matches whole texts only.
    whole: OnceCell<Option<Regex>>,
    line_start: bool,
    end_of_text: bool,
}

/// What a search came to.
pub(super) enum Found {
    /// Nothing.
    No,
    /// A match.
    Match(Groups),
    /// The automaton cannot tell on this text.
    Unsure,
}

/// Which of a pattern's automata.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Variant {
    Find,
    BeforeFinalNewline,
    Whole,
}

impl Linear {
    /// Compiles `node`, which [is linear](Node::is_linear). `None` when it gets too large.
    pub(super) fn new(node: &Node) -> Option<Linear> {
        let find = build(&emit(node, false)).ok()?;
        Some(Linear {
            find,
            before_final_newline: OnceCell::new(),
            whole: OnceCell::new(),
            line_start: node.asserts(Assertion::LineStart),
            end_of_text: node.asserts(Assertion::EndOfText),
            node: node.clone(),
        })
    }

    /// Bytes of one automaton.
    pub(super) fn size(&self) -> usize {
        self.find.memory_usage()
    }

    /// Which automaton finds matches in `text`; `None` if none can.
    pub(super) fn variant_for(&self, text: &str) -> Option<Variant> {
        if !self.end_of_text || !text.ends_with('\n') {
            return Some(Variant::Find);
        }
        let inner = &text.as_bytes()[..text.len() - 1];
        (!inner.contains(&b'\n')).then_some(Variant::BeforeFinalNewline)
    }

    /// An automaton, built at its first use.
    pub(super) fn automaton(&self, variant: Variant) -> Option<&Regex> {
        match variant {
            Variant::Find => Some(&self.find),
            Variant::BeforeFinalNewline => {
                self.before_final_newline.get_or_init(|| build(&emit(&self.node, true)).ok()).as_ref()
            }
            Variant::Whole => {
                self.whole.get_or_init(|| build(&format!("(?:{})\\z", emit(&self.node, false))).ok()).as_ref()
            }
        }
    }

    /// The first match at or after `from`.
    pub(super) fn find(&self, automaton: &Regex, cache: &mut Cache, text: &str, from: usize) -> Found {
        let found = search(automaton, cache, Input::new(text).range(from..));
        match found {
            None => Found::No,
            // `^` in lines holds at the end of a text that ends in a line feed here, and should not.
            Some(groups)
                if self.line_start
                    && text.ends_with('\n')
                    && groups[0].is_some_and(|(_, end)| end == text.len()) =>
            {
                Found::Unsure
            }
            Some(groups) => Found::Match(groups),
        }
    }

    /// The match of the whole text.
    pub(super) fn matches(&self, automaton: &Regex, cache: &mut Cache, text: &str) -> Found {
        if self.line_start && text.ends_with('\n') {
            return Found::Unsure;
        }
        match search(automaton, cache, Input::new(text).anchored(Anchored::Yes)) {
            None => Found::No,
            Some(groups) => Found::Match(groups),
        }
    }
}

fn search(automaton: &Regex, cache: &mut Cache, input: Input<'_>) -> Option<Groups> {
    let mut captures: Captures = automaton.create_captures();
    automaton.search_captures_with(cache, &input, &mut captures);
    captures.is_match().then(|| captures.iter().map(|span| span.map(|s| (s.start, s.end))).collect())
}

fn build(pattern: &str) -> Result<Regex, Box<BuildError>> {
    let config = Config::new()
        .nfa_size_limit(Some(SIZE_LIMIT))
        .onepass_size_limit(Some(SIZE_LIMIT / 8))
        .dfa_size_limit(Some(SIZE_LIMIT / 8))
        .hybrid_cache_capacity(CACHE_LIMIT);
    Regex::builder().configure(config).build(pattern).map_err(Box::new)
}

/// `node` in the syntax of the automata. `final_newline`: `$` also holds before line feeds.
fn emit(node: &Node, final_newline: bool) -> String {
    let mut out = String::new();
    write(node, final_newline, &mut out);
    out
}

fn write(node: &Node, final_newline: bool, out: &mut String) {
    match node {
        Node::Empty => out.push_str("(?:)"),
        Node::Char { char, ignore_case: false } => push_char(out, *char),
        Node::Char { char, ignore_case: true } => {
            out.push_str("(?i:");
            push_char(out, *char);
            out.push(')');
        }
        Node::Class { text, ignore_case: false } => out.push_str(text),
        Node::Class { text, ignore_case: true } => {
            out.push_str("(?i:");
            out.push_str(text);
            out.push(')');
        }
        Node::Any { newline } => out.push_str(if *newline { "(?s:.)" } else { "." }),
        Node::Assertion(place) => out.push_str(match place {
            Assertion::Start => "\\A",
            Assertion::EndOfText if final_newline => "(?m:$)",
            Assertion::End | Assertion::EndOfText => "\\z",
            Assertion::LineStart => "(?m:^)",
            Assertion::LineEnd => "(?m:$)",
            Assertion::WordBoundary => "\\b",
            // Searches begin where the engine says; the backtracking engine does these.
            Assertion::NoWordBoundary | Assertion::SearchStart => "\\B",
        }),
        Node::Capture(_, node) => {
            out.push('(');
            write(node, final_newline, out);
            out.push(')');
        }
        Node::Concat(parts) => {
            for part in parts {
                grouped(part, matches!(part, Node::Alternate(_)), final_newline, out);
            }
        }
        Node::Alternate(parts) => {
            for (i, part) in parts.iter().enumerate() {
                if i > 0 {
                    out.push('|');
                }
                write(part, final_newline, out);
            }
        }
        Node::Repeat { node, min, max, greed } => {
            let compound = matches!(**node, Node::Concat(_) | Node::Alternate(_) | Node::Repeat { .. });
            grouped(node, compound, final_newline, out);
            match (min, max) {
                (0, None) => out.push('*'),
                (1, None) => out.push('+'),
                (0, Some(1)) => out.push('?'),
                (min, None) => out.push_str(&format!("{{{min},}}")),
                (min, Some(max)) => out.push_str(&format!("{{{min},{max}}}")),
            }
            if *greed == Greed::Lazy {
                out.push('?');
            }
        }
        Node::LineBreak => out.push_str("(?:\\r\\n|[\\n\\x0B\\f\\r\\x{85}\\x{2028}\\x{2029}])"),
        // Not linear: such patterns never come here.
        Node::Look { node, .. } | Node::Atomic(node) => grouped(node, true, final_newline, out),
        Node::Backreference { .. } | Node::Grapheme | Node::Keep => {}
    }
}

fn grouped(node: &Node, group: bool, final_newline: bool, out: &mut String) {
    if group {
        out.push_str("(?:");
        write(node, final_newline, out);
        out.push(')');
    } else {
        write(node, final_newline, out);
    }
}
