use super::super::bounds::{Bounds, FirstMatch, TextWalk};
use super::super::linear::{Linear, SearchResult, Variant};
use super::super::parser::parse;
use super::super::sequence::Groups;
use super::follow_all;
use crate::meter::{self, Account, PauseAnswer, Pauses, pausing};
use crate::value::Regex;
use std::cell::Cell;
use std::convert::Infallible;
use std::ops::Range;
use std::rc::Rc;

/// A pattern in all engines, with scratch memory that lasts from search to search.
struct Engines {
    linear: Linear,
    /// Bears the costs of threads.
    meter: Rc<Regex>,
}

/// What the searches in steps came to: by the automata with the groups of the match, and by threads alone.
#[derive(Debug)]
struct InSteps {
    /// `None` if the automata could not tell.
    by_bounds: Option<[Option<Groups>; 2]>,
    by_threads: Option<Groups>,
}

impl Engines {
    /// `None` if the pattern is not for automata.
    fn new(source: &str) -> Option<Engines> {
        let pattern = parse(source).unwrap_or_else(|error| panic!("{source}: {}", error.text));
        let linear = pattern.node.is_linear().then(|| Linear::new(&pattern.node, pattern.groups))?;
        linear.automaton(Variant::Find)?;
        Some(Engines { linear, meter: compiled("") })
    }

    fn bounds(&self, variant: Variant) -> &Bounds {
        self.linear.bounds(variant).expect("no larger than the automaton of whole searches")
    }

    /// What threads alone find.
    fn follow(&self, variant: Variant, text: &str, range: Range<usize>, anchored: bool) -> Option<Groups> {
        let mut account = Account::new(100 << 20);
        let _installed = account.install();
        let bounds = self.bounds(variant);
        let found = follow_all(&*self.meter, bounds, self.linear.groups(), text, range, anchored);
        found.expect("within limits")
    }

    /// What is found from each of the places on, in one go and in steps.
    fn compare(&self, source: &str, text: &str, places: impl Iterator<Item = usize>) {
        let automaton = self.linear.automaton(Variant::Find).expect("small");
        let bounds = self.bounds(Variant::Find);
        let mut cache = automaton.create_cache();
        let (mut forward, mut reverse) = (bounds.forward().create_cache(), bounds.reverse().create_cache());
        for from in places {
            let wanted = match self.linear.find(automaton, &mut cache, text, from) {
                SearchResult::No => None,
                SearchResult::Match(groups) => Some(groups),
                // What the other engine decides is no matter of these.
                SearchResult::Unsure => continue,
            };
            let mut walk = TextWalk { text, block: 3, pause: || Ok::<(), Infallible>(()) };
            let Ok(bound) = bounds.find(&mut forward, &mut reverse, &mut walk, from);
            let by_bounds = match bound {
                FirstMatch::No => Some([None, None]),
                FirstMatch::Unsure => None,
                FirstMatch::Match(start, end) => Some([
                    self.linear.groups_of(automaton, &mut cache, text, start..end),
                    self.follow(Variant::Find, text, start..end, true),
                ]),
            };
            assert!(by_bounds.is_some() || !text.is_ascii(), "{source} on {text:?}");
            let found =
                InSteps { by_bounds, by_threads: self.follow(Variant::Find, text, from..text.len(), false) };
            let same = |found: &Option<Groups>| *found == wanted;
            assert!(
                found.by_bounds.iter().flatten().all(same) && same(&found.by_threads),
                "{source} on {text:?} from {from}: {wanted:?}, but {found:?}"
            );
        }
    }

    /// Whether and how the pattern matches the whole text, in one go and in steps.
    fn compare_whole(&self, source: &str, text: &str) {
        if self.linear.is_whole_in_doubt(text) {
            return;
        }
        let Some(automaton) = self.linear.automaton(Variant::Whole) else { return };
        let wanted = match self.linear.matches(automaton, &mut automaton.create_cache(), text) {
            SearchResult::Match(groups) => Some(groups),
            _ => None,
        };
        let bounds = self.bounds(Variant::Whole);
        let mut walk = TextWalk { text, block: 3, pause: || Ok::<(), Infallible>(()) };
        let Ok(bound) = bounds.matches(&mut bounds.forward().create_cache(), &mut walk);
        match bound {
            FirstMatch::No => assert_eq!(wanted, None, "{source} is {text:?}"),
            FirstMatch::Match(..) => {
                let whole = wanted.as_ref().and_then(|groups| groups[0]);
                assert_eq!(bound, FirstMatch::Match(0, whole.expect("a match").1), "{source} is {text:?}");
            }
            FirstMatch::Unsure => assert!(!text.is_ascii()),
        }
        assert_eq!(self.follow(Variant::Whole, text, 0..text.len(), true), wanted, "{source} is {text:?}");
    }
}

/// Numbers as if by chance, the same each time.
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }

    fn of<'t>(&mut self, all: &[&'t str]) -> &'t str {
        all[self.below(all.len())]
    }

    fn text(&mut self, pieces: &[&str], most: usize) -> String {
        (0..self.below(most + 1)).map(|_| self.of(pieces)).collect()
    }

    /// A pattern of this depth at most.
    fn pattern(&mut self, depth: usize) -> String {
        const ATOMS: [&str; 26] = [
            "a", "b", "a", "b", "ab", "é", "日", "1", " ", ".", "[ab]", "[^a]", r"\w", r"\d", r"\s", r"\W",
            "[é-ü]", r"\b", r"\B", "^", "$", "(?m:^)", "(?m:$)", r"\z", r"\n", "",
        ];
        const REPEATS: [&str; 12] =
            ["*", "+", "?", "*?", "+?", "??", "{2}", "{1,3}", "{2,}", "{0,2}?", "{0}", "{3,}?"];
        if depth == 0 {
            return self.of(&ATOMS).to_owned();
        }
        match self.below(8) {
            0 | 1 => format!("{}{}", self.pattern(depth - 1), self.pattern(depth - 1)),
            2 => format!("(?:{}|{})", self.pattern(depth - 1), self.pattern(depth - 1)),
            3 => format!("({})", self.pattern(depth - 1)),
            4 => format!("({}|{})", self.pattern(depth - 1), self.pattern(depth - 1)),
            5 | 6 => format!("(?:{}){}", self.pattern(depth - 1), self.of(&REPEATS)),
            _ => format!("(?i:{})", self.pattern(depth - 1)),
        }
    }
}

const PIECES: [&str; 14] = ["a", "b", "a", "b", "A", "ab", "é", "日", "1", " ", "\n", "_", "aab", "\r\n"];

fn places(text: &str) -> impl Iterator<Item = usize> {
    text.char_indices().map(|(at, _)| at).chain([text.len()])
}

#[test]
fn searches_in_steps_find_what_searches_in_one_go_find() {
    let mut chance = Chance(7);
    let mut compared = 0;
    while compared < 2_000 {
        let depth = chance.below(5);
        let source = chance.pattern(depth);
        let Some(engines) = Engines::new(&source) else { continue };
        for _ in 0..6 {
            let pieces = if chance.below(2) == 0 { &PIECES[..6] } else { &PIECES[..] };
            let text = chance.text(pieces, 14);
            engines.compare(&source, &text, places(&text));
            engines.compare_whole(&source, &text);
        }
        let text = chance.text(&PIECES, 300);
        engines.compare(&source, &text, places(&text).step_by(97));
        compared += 1;
    }
}

#[test]
fn well_known_patterns_find_the_same_in_steps() {
    let text = "On 2026-11-23 at 05:28 héllo@example.org wrote to a.b+c@host.test: \"see (x) [y] {z}\",\r\n\
                key = 12, other=abc;; the the end. FOO foo Foo 日本語 naïve\n\nlast line\n";
    for source in [
        r"(\d{4})-(\d\d)-(\d\d)",
        r"[\w.+-]+@([\w-]+\.)+\w{2,}",
        r"\b(\w+)\s+the\b",
        r"(?m)^(\w+)\s*=\s*(.*?),",
        r#""([^"]*)""#,
        "(?i)foo|bar",
        "foo|Foo|FOO|last",
        r"(a|ab)(c|bcd)?(d*)",
        "(?s).*end",
        "(?s)(.*)\n(.*)",
        r"\R+",
        "(a*)*",
        "(a*)+b|",
        "(?:(a)|(b)|(é))*",
        r"(?m)\S+$",
        r"\bn.*e\b",
        r"\Bn",
        "",
        "x*",
        r"日(本)?",
        "(|a)+",
        "(a|b|)*?$",
    ] {
        let engines = Engines::new(source).expect("for automata");
        engines.compare(source, text, places(text));
        engines.compare_whole(source, text);
        for (short, many) in [("a", 300), ("ab ", 200), ("é", 100), ("foo bar\n", 80), ("", 0)] {
            let text = short.repeat(many);
            engines.compare(source, &text, places(&text).step_by(53));
            engines.compare_whole(source, &text);
        }
    }
}

#[test]
fn beginnings_are_found_across_windows() {
    let engines = Engines::new("needle(\\d)").expect("for automata");
    for before in [65_529, 65_530, 65_535, 65_536, 65_537, 131_071, 131_072, 200_000] {
        let text = format!("{}needle needle7 needle8", "x".repeat(before));
        engines.compare("needle(\\d)", &text, [0, 1, before].into_iter());
    }
}

fn compiled(source: &str) -> Rc<Regex> {
    match Regex::literal(source) {
        Ok(crate::value::Value::Regex(regex)) => regex,
        other => panic!("{source}: {other:?}"),
    }
}

thread_local! {
    static ASKED: Cell<u32> = const { Cell::new(0) };
}

/// Asks how often `work` could have been interrupted.
fn places_to_give_way(work: impl FnOnce()) -> u32 {
    fn asked() -> bool {
        ASKED.set(ASKED.get() + 1);
        false
    }
    ASKED.set(0);
    pausing(Pauses { is_due: asked, pause: || PauseAnswer::GoOn }, work);
    ASKED.get()
}

#[test]
fn long_searches_give_way() {
    let letters: String = (0..1_000_000_u32)
        .map(|i| if i.wrapping_mul(2_654_435_761) >> 31 == 0 { 'a' } else { 'b' })
        .collect();
    let accents = "été ".repeat(50_000);
    let lines = format!("{}\n", "a".repeat(1_000_000));
    // The least number of places for the first match, and for that of the whole text.
    let cases = [
        ("(?:a?){1000}a*c", &letters[..20_000], 1_000, 0),
        (r"\w{10}N", &letters, 300, 0),
        ("(?:[ab]*a[ab]{12})c", &letters, 300, 300),
        ("(?:[ab]*a[ab]{12})c|ab", &letters, 1, 300),
        (r"(?s)z|(?:.*)c\b", &letters, 300, 300),
        ("(?s)(.*)b", &letters, 300, 300),
        (r"\b[a-z]+\b1", &accents, 10, 0),
        ("q|z", &letters, 10, 0),
        ("needle", &letters, 10, 0),
        // Those of one pass.
        ("[ab]*c?", &letters, 50, 50),
        ("needle[ab]*", &letters, 10, 0),
        // In a copy with a mark, whose making gives way as well.
        ("[^b]+c|b$", &lines, 300, 0),
        // By the other engine.
        ("(?=b)c|(?m)a$", &lines, 10, 0),
    ];
    for (source, text, first, whole) in cases {
        let mut account = Account::new(100 << 20);
        let _installed = account.install();
        meter::set_work_limit(u64::MAX);
        let regex = compiled(source);
        let plan = regex.plan(text).expect("within limits");
        let asked = places_to_give_way(|| drop(regex.find(text, 0, &plan).expect("within limits")));
        assert!(asked >= first, "{source}: {asked}");
        // The other engine may give up.
        let asked = places_to_give_way(|| drop(regex.matches(text)));
        assert!(asked >= whole, "whole {source}: {asked}");
    }
    let ends_in_a_line = compiled("ab$");
    assert!(places_to_give_way(|| drop(ends_in_a_line.plan(&lines).expect("within limits"))) >= 3);
}

#[test]
fn many_short_searches_by_new_patterns_give_way_between_each_two() {
    let text = "ab".repeat(300);
    let mut account = Account::new(100 << 20);
    let _installed = account.install();
    meter::set_work_limit(u64::MAX);
    let patterns: Vec<_> = (0..50).map(|n| compiled(&format!("[ab]*a[ab]{{11}}{n}"))).collect();
    let plans: Vec<_> = patterns.iter().map(|regex| regex.plan(&text).expect("within limits")).collect();
    let asked = places_to_give_way(|| {
        for (regex, plan) in patterns.iter().zip(&plans) {
            assert!(regex.find(&text, 0, plan).expect("within limits").is_none());
        }
    });
    // After each part that is built, and before each search.
    assert!(asked >= 100, "{asked}");
}

#[test]
fn the_rest_of_a_long_text_gives_way_where_its_price_is_asked() {
    let text = "a".repeat(1_000_000);
    let mut account = Account::new(100 << 20);
    let _installed = account.install();
    meter::set_work_limit(u64::MAX);
    let regex = compiled("a.*z|a");
    let plan = regex.plan(&text).expect("within limits");
    let asked = places_to_give_way(|| drop(regex.find_next(&text, 1, &plan).expect("within limits")));
    assert!(asked >= 600, "{asked}");
}

#[test]
fn the_price_of_a_long_search_does_not_depend_on_what_is_kept() {
    let text = "abab é ".repeat(20_000);
    let price = |source: &str| {
        let mut account = Account::new(100 << 20);
        let _installed = account.install();
        meter::set_work_limit(u64::MAX);
        let regex = compiled(source);
        let plan = regex.plan(&text).expect("within limits");
        let found = regex.find(&text, 0, &plan).expect("within limits");
        (meter::take_work(), found)
    };
    for source in ["(?:[ab]*a[ab]{7})c", r"(?s)(.*)\bé", r"\b[a-z]+\b1", "(?s).*(b)"] {
        let first = price(source);
        assert_eq!(price(source), first, "{source}");
        crate::regex::give_way();
        assert_eq!(price(source), first, "{source}");
    }
}

#[test]
fn what_a_long_search_takes_is_charged() {
    let text = "ab".repeat(200_000);
    let mut account = Account::new(100 << 20);
    {
        let _installed = account.install();
        meter::set_work_limit(u64::MAX);
        let regex = compiled("(?s)(.*)(b)");
        let plan = regex.plan(&text).expect("within limits");
        assert!(regex.find(&text, 0, &plan).expect("within limits").is_some());
        drop(regex);
    }
    assert!(account.peak > 250_000 && account.live < 4096, "{} {}", account.peak, account.live);
    let text = &text[..100_000];
    let mut poor = Account::new(200_000);
    let _installed = poor.install();
    let regex = compiled("(?:[ab]*a[ab]{7})c");
    let plan = regex.plan(text).expect("within limits");
    let error = regex.find(text, 0, &plan).expect_err("too large for it");
    assert_eq!(error.message(), "heap limit 200000 bytes exceeded");
}

#[test]
fn a_long_search_ends_when_the_time_of_its_program_is_over() {
    use crate::meter::Deadline;
    thread_local! {
        static NOW: Cell<u64> = const { Cell::new(0) };
    }
    let clock = || NOW.replace(NOW.get() + 1);
    let mut account = Account::new(100 << 20);
    let _installed = account.install_with(None, Some(Deadline { clock, at: 50, allowed_ms: 7 }));
    meter::set_work_limit(u64::MAX);
    let text = "ab".repeat(500_000);
    let regex = compiled("(?:[ab]*a[ab]{12})c");
    let plan = regex.plan(&text).expect("within limits");
    let error = regex.find(&text, 0, &plan).expect_err("no time");
    assert_eq!(error.reason(), crate::Reason::Timeout);
    assert!(NOW.get() < 60, "{}", NOW.get());
}
