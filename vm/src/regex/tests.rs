use super::linear::{Linear, SearchResult, Variant};
use super::parser::parse;
use super::sequence::Groups;
use crate::meter::{self, Account};
use crate::value::{Regex, Value};

fn engine_of(value: Value) -> std::rc::Rc<crate::value::Regex> {
    match value {
        Value::Regex(regex) => regex,
        other => panic!("not a regex: {}", other.kind_label()),
    }
}

/// The first match at or after `from`.
fn find(regex: &Regex, text: &str, from: usize) -> crate::Result<Option<Groups>> {
    regex.find(text, from, &regex.plan(text)?)
}

fn compiled(source: &str) -> std::rc::Rc<crate::value::Regex> {
    engine_of(Regex::literal(source).unwrap_or_else(|error| panic!("{source}: {error}")))
}

fn texts(text: &str, groups: Option<Groups>) -> Option<Vec<Option<&str>>> {
    Some(groups?.iter().map(|range| range.map(|(start, end)| &text[start..end])).collect())
}

/// All matches, as the functions that go through a text find them.
fn all<'t>(regex: &Regex, text: &'t str) -> Vec<&'t str> {
    let (mut found, mut from) = (Vec::new(), Some(0));
    while let Some(at) = from {
        let Some((start, end)) = find(regex, text, at).expect("within limits").and_then(|groups| groups[0])
        else {
            break;
        };
        found.push(&text[start..end]);
        from = if start == end { text[end..].chars().next().map(|c| end + c.len_utf8()) } else { Some(end) };
    }
    found
}

fn first(source: &str, text: &str) -> Option<String> {
    let regex = compiled(source);
    let groups = find(&regex, text, 0).expect("within limits");
    texts(text, groups).and_then(|groups| groups[0].map(str::to_owned))
}

#[test]
fn perl_syntax_is_understood() {
    for (source, text, want) in [
        (r"\d+", "v12.5", Some("12")),
        (r"(\d+)\.(\d+)", "v12.5", Some("12.5")),
        ("x", "abc", None),
        ("a|ab", "ab", Some("a")),
        ("日", "x日", Some("日")),
        ("a*?", "aaa", Some("")),
        (r"(\w)\1", "hello", Some("ll")),
        (r"(?<c>\w)\k<c>", "hello", Some("ll")),
        (r"(?P<c>\w)(?P=c)", "hello", Some("ll")),
        (r"(\w)\g{-1}", "hello", Some("ll")),
        (r"(?i)(a)\1", "xaA", Some("aA")),
        (r"\x41", "xA", Some("A")),
        (r"\x{e9}\u00e9\351", "ééé", Some("ééé")),
        (r"\t", "a\tb", Some("\t")),
        (r"\\", "a\\b", Some("\\")),
        (r"\Aabc\z", "abc", Some("abc")),
        (r"\Aabc\z", "abc\n", None),
        (r"abc\Z", "abc\n", Some("abc")),
        ("(?x) a b c # comment\n d", "abcd", Some("abcd")),
        (r"\R", "a\r\nb", Some("\r\n")),
        (r"\h", "a b", Some(" ")),
        (r"[\h,]+", "a\t, b", Some("\t, ")),
        (r"\H+", "\tab", Some("ab")),
        (r"[[:digit:]]+", "ab12", Some("12")),
        (r"[[:^alpha:]]+", "ab12", Some("12")),
        (r"\p{L}+", "1é日2", Some("é日")),
        (r"\pL\PL", "é1", Some("é1")),
        (r"\p{IsAlphabetic}\p{Lower}", "éb", Some("éb")),
        (r"\s", "a\u{a0}b", Some("\u{a0}")),
        (r"\w+", "-été_1-", Some("été_1")),
        ("b$", "ab\n", Some("b")),
        ("b$", "ab\ncb\n", Some("b")),
        ("^b", "a\nb", None),
        ("(?m)^b$", "a\nb\nc", Some("b")),
        (r"\Q.*\E+", "a.***", Some(".***")),
        ("a{2,3}", "aaaa", Some("aaa")),
        ("a{,3}", "a{,3}", Some("a{,3}")),
        ("{a}", "x{a}", Some("{a}")),
        ("[]a]+", "x]a]", Some("]a]")),
        ("[^]a]", "]ab", Some("b")),
        ("[a-]+", "x-a-", Some("-a-")),
        ("[a&&b]+", "x&ab", Some("&ab")),
        (r"[\w-]+", "a-b c", Some("a-b")),
        ("(?i)straße", "STRAßE", Some("STRAßE")),
        ("(?i:a)b", "Ab", Some("Ab")),
        ("(?i:a)b", "AB", None),
        ("a(?#comment)b", "ab", Some("ab")),
        ("(?s)a.b", "a\nb", Some("a\nb")),
        ("a.b", "a\nb", None),
        ("a++b", "aaab", Some("aaab")),
        ("a++ab", "aaab", None),
        ("(?>a|ab)c", "abc", None),
        (r"(?<=\$)\d+", "a $12", Some("12")),
        (r"(?<!\$)\b\d+", "$12 34", Some("34")),
        (r"\d+(?=%)", "10 20%", Some("20")),
        (r"\b\w+\b(?!:)", "a: b", Some("b")),
        ("(?<=a|bc)d", "bcd", Some("d")),
        ("(?<=^|,)x", "x", Some("x")),
        (r"foo\Kbar", "foobar", Some("bar")),
        (r"\X", "e\u{301}x", Some("e\u{301}")),
        (r"(?=(a+))\1b", "aab", Some("aab")),
        (r"(a?){3}(?=b)b", "aab", Some("aab")),
        (r"(?:a|(?=b))*b", "aab", Some("aab")),
        (r"(a{2,3}?)(?=a)a", "aaaa", Some("aaa")),
    ] {
        assert_eq!(first(source, text).as_deref(), want, "{source} on {text:?}");
    }
}

#[test]
fn groups_that_take_no_part_are_absent() {
    for source in ["(a)?(b)?(c)?", "(a)?(b)?(c)?(?=)"] {
        let regex = compiled(source);
        let found = texts("b", find(&regex, "b", 0).expect("within limits"));
        assert_eq!(found, Some(vec![Some("b"), None, Some("b"), None]), "{source}");
    }
    let regex = compiled("(?:(a)|b)*");
    let found = texts("ab", find(&regex, "ab", 0).expect("within limits"));
    assert_eq!(found, Some(vec![Some("ab"), Some("a")]));
}

#[test]
fn groups_that_are_repeated_no_times_are_counted() {
    for (source, want) in [
        ("(?:(a)){0}(b)", [Some("b"), None, Some("b")]),
        ("(b)(a){0}", [Some("b"), Some("b"), None]),
        ("(b)(?:(a){0}|c)", [Some("b"), Some("b"), None]),
    ] {
        let regex = compiled(source);
        let found = texts("b", find(&regex, "b", 0).expect("within limits"));
        assert_eq!(found, Some(want.to_vec()), "{source}");
        let whole = texts("b", regex.matches("b").expect("within limits"));
        assert_eq!(whole, Some(want.to_vec()), "{source}");
    }
}

#[test]
fn empty_matches_move_on_by_one_character() {
    assert_eq!(all(&compiled(""), "日b"), ["", "", ""]);
    assert_eq!(all(&compiled("a|"), "aba"), ["a", "", "a", ""]);
    assert_eq!(all(&compiled("(?=b)"), "ab"), [""]);
    assert_eq!(all(&compiled("(?m)^.*$"), "a\nb\n"), ["a", "b"]);
    assert_eq!(all(&compiled(r"\G\d"), "12a3"), ["1", "2"]);
}

#[test]
fn whole_matches_cover_the_whole_text() {
    let whole = |source: &str, text: &str| compiled(source).matches(text).expect("within limits").is_some();
    assert!(whole("a|ab", "ab"));
    assert!(whole("(?=a)a|ab", "ab"));
    assert!(!whole(r"\d+", "12a"));
    assert!(!whole("a$", "a\n"));
    assert!(whole("(?m)a\n^", "a\n") == first("(?m)a\n^\\z", "a\n").is_some());
}

#[test]
fn both_engines_agree() {
    let texts = [
        "\n",
        "ab\ncb\r\n",
        "x\n\n",
        "",
        "a",
        "abc",
        "aab\nab\n",
        "foo bar\tbaz",
        "x=1, y=22",
        "ééa\r\nb",
        "aaaa\n",
    ];
    for source in [
        "a*",
        "(a)(b)?",
        r"\w+\s*",
        "^a",
        "b$",
        "(?m)^.*$",
        "(?m)a$",
        r"\b",
        "[^a]+",
        "(a|ab)(c|bcd)?",
        "a{2,3}",
        "(?i)A+?b",
        r"\R",
        r"\R$",
        "b$\n?",
        "[^b]$",
        r"[\x00-\x20]+$|c",
        r"\s*?$",
        "(?s).$",
        ".*$",
        "(?i)[a-c]$(.|\n)?",
        r"\x01|\n$",
        r"(\w)=(\d+)",
        "x*",
        "(?:a?b?)*",
        r"\d{1,2}\z",
        "a{0}",
        "(?s).*",
    ] {
        let linear = compiled(source);
        // An empty lookahead changes nothing but the engine.
        let backtracking = compiled(&format!("{source}(?=)"));
        for text in texts {
            assert_eq!(all(&linear, text), all(&backtracking, text), "{source} on {text:?}");
            let (a, b) = (find(&linear, text, 0), find(&backtracking, text, 0));
            assert_eq!(a.expect("within limits"), b.expect("within limits"), "{source} on {text:?}");
        }
    }
}

fn linear(source: &str) -> Linear {
    let pattern = parse(source).expect("a pattern");
    Linear::new(&pattern.node, pattern.groups)
}

/// What an automaton finds at or after a place.
fn by_automaton(source: &str) -> impl FnMut(&str, usize) -> Option<Groups> + use<> {
    let linear = linear(source);
    let mut cache = linear.automaton(Variant::Find).expect("small").create_cache();
    move |text, from| {
        let automaton = linear.automaton(Variant::Find).expect("small");
        match linear.find(automaton, &mut cache, text, from) {
            SearchResult::No => None,
            SearchResult::Match(groups) => Some(groups),
            SearchResult::Unsure => panic!("unsure on {text:?}"),
        }
    }
}

#[test]
fn sequences_and_automata_agree() {
    let mut texts: Vec<String> =
        ["", "a", "key = 12, k=3", "ab=ab=1;aab=22", "1a22bb333", "aé1日=2\n,b", "==\n==="]
            .map(str::to_owned)
            .to_vec();
    // Far matches and none, many beginnings in vain, characters that are cut by what a search may skip.
    for (many, last) in
        [("x", "ab=12"), ("é", "a1"), ("a", "=1"), ("日", ""), ("ab=", "1"), (" ", ",b"), ("a1 ", "aa")]
    {
        for times in [1, 85, 86, 127, 128, 129, 300] {
            texts.push(format!("{}{last}", many.repeat(times)));
        }
    }
    // All short texts over a few characters.
    for n in 0..5_u32.pow(5) {
        texts.push((0..5).map(|i| ['a', 'b', '=', '1', 'é'][(n / 5_u32.pow(i) % 5) as usize]).collect());
    }
    for source in [
        r"\d+",
        r"\w+",
        r"(\w+)\s*=\s*(\d+)",
        "[a-z]+[0-9]+",
        "ab=([^=]*)",
        "[^=]*=",
        "a*",
        "a*b",
        "(a*)(b*)1",
        "[^a]{2}",
        "[ab]{1,2}[=é]",
        "a{2}a",
        "^(a+)(b?)=?",
        r"\s*,\s*",
        "(?i)A+b?é",
        "(?s).1",
        ".{3}",
        "=([a-z]?)[0-9]*",
    ] {
        let linear = linear(source);
        assert!(linear.sequence().is_some(), "{source}");
        let mut by_automaton = by_automaton(source);
        let mut whole_by_automaton = self::by_automaton(&format!("^(?:{source})\\z"));
        let regex = &compiled(source);
        for text in &texts {
            let places = text.char_indices().map(|(at, _)| at).chain([text.len()]);
            for from in places.filter(|at| *at < 8 || at % 61 == 0) {
                let wanted = by_automaton(text, from);
                assert_eq!(
                    find(regex, text, from).expect("within limits"),
                    wanted,
                    "{source} on {text:?} from {from}"
                );
            }
            let whole = whole_by_automaton(text, 0);
            assert_eq!(regex.matches(text).expect("within limits"), whole, "{source} is {text:?}");
        }
    }
}

#[test]
fn patterns_with_several_ways_to_match_are_no_sequences() {
    for source in [
        "a+a",
        "a?ab",
        "a*b*a",
        r"\w+\d",
        "a|b",
        "(a)+",
        "(a)?",
        "a+?b",
        r"\ba",
        "a$",
        "(?m)^a",
        "b^a",
        "[a-z]+(?i)B",
        r"\R",
        "(?:ab)+",
        "a{1,3}[^b]",
        // The automata are as good.
        "ab=",
    ] {
        let linear = linear(source);
        assert!(linear.sequence().is_none(), "{source}");
    }
}

#[test]
fn bad_patterns_name_the_place_and_the_fault() {
    for (source, text) in [
        ("(", "missing ) at position 1"),
        ("[", "missing terminating ] for character class at position 1"),
        ("*a", "nothing to repeat at position 0"),
        ("a**", "nothing to repeat at position 2"),
        ("a{2,1}", "numbers out of order in {} quantifier at position 5"),
        ("\\", "\\ at end of pattern at position 1"),
        ("a)", "unmatched parentheses at position 1"),
        ("[b-a]", "range out of order in character class at position 3"),
        ("(?z)", "unrecognized character after (? or (?- at position 2"),
        (r"\1", "reference to non-existent subpattern at position 2"),
        (r"\p{Nope}", "unknown property name after \\P or \\p at position 8"),
        ("[[:nope:]]", "unknown POSIX class name at position 1"),
        ("(?<=a+)b", "lookbehind assertion is not fixed length at position 7"),
        ("(?<n>a)(?<n>b)", "two named subpatterns have the same name at position 12"),
        ("(?R)", "recursion into groups is not supported at position 0"),
    ] {
        let error = Regex::literal(source).expect_err(source);
        assert_eq!(error.message(), format!("invalid_form: invalid regex literal #\"{source}\": {text}"));
    }
    let mut account = Account::new(10 << 20);
    let _installed = account.install();
    assert_eq!(
        Regex::pattern("日(").expect_err("unclosed").message(),
        "Runtime error: Invalid regex at position 2: missing )"
    );
    let long = "a".repeat(257);
    assert_eq!(
        Regex::pattern(&long).expect_err("too long").message(),
        "Runtime error: Regex pattern exceeds maximum length of 256 bytes"
    );
}

#[test]
fn a_pattern_too_large_for_automata_backtracks() {
    assert_eq!(first(r"\w{1,200}", "été!").as_deref(), Some("été"));
    assert_eq!(first(r"(\w{1000}){1000}", "a"), None);
}

#[test]
fn no_pattern_runs_away() {
    let mut account = Account::new(10 << 20);
    let _installed = account.install();
    meter::set_work_limit(25_000_000);
    let text = format!("{}b", "a".repeat(40));
    assert_eq!(first("(a+)+$", &text), None);
    let complex = find(&compiled("(?=a)(a+)+$"), &text, 0).expect_err("too complex");
    assert_eq!(complex.message(), "type_error: Regex complexity limit exceeded (ReDoS protection)");
    // A long text alone is not complex.
    let long = "a".repeat(200_000);
    assert_eq!(first("(?<=a)b", &long), None);
    // Many starting places, each of them cheap enough, are.
    let quadratic = find(&compiled("(?=a)a*b"), &long, 0).expect_err("too complex");
    assert_eq!(quadratic.message(), "type_error: Regex complexity limit exceeded (ReDoS protection)");
}

#[test]
fn backtracking_steps_are_steps_of_the_program() {
    let mut account = Account::new(10 << 20);
    let _installed = account.install();
    meter::set_work_limit(10_000);
    let error = find(&compiled("(?=a)(a+)+$"), &"a".repeat(40).replace("aa", "ab"), 0);
    assert!(error.is_ok_and(|found| found.is_none()));
    let error = find(&compiled("(?=a)(a+)+$"), &format!("{}b", "a".repeat(40)), 0).expect_err("out of steps");
    assert_eq!(error.reason(), crate::Reason::StepLimitExceeded);
}

#[test]
fn the_price_of_a_pattern_does_not_depend_on_the_cache() {
    let price = |times: usize| {
        let mut account = Account::new(10 << 20);
        let _installed = account.install();
        for _ in 0..times {
            let regex = Regex::pattern(r"price-\w+|\w{3}").expect("a pattern");
            find(&regex, "price-a", 0).expect("within limits");
        }
        (meter::take_work(), account_of_the_thread_is(&[r"price-\w+|\w{3}"]))
    };
    let (fresh, built) = price(1);
    assert!(built > 50_000, "{built}");
    assert!(fresh > 6_000, "{fresh}");
    assert_eq!(price(1), (fresh, built), "another program pays the same");
    let (twice, _) = price(2);
    assert!(twice < fresh + 1_000, "one program pays once: {fresh}, {twice}");
}

/// Bytes of this thread's patterns with what has been built of them; these are among them.
fn account_of_the_thread_is(sources: &[&str]) -> usize {
    let alive: Vec<_> = sources.iter().map(|source| compiled(source)).collect();
    let bytes = super::compiled_bytes();
    drop(alive);
    bytes
}

#[test]
fn nothing_is_built_of_a_pattern_that_is_not_used() {
    let before = super::compiled_bytes();
    let mut account = Account::new(10 << 20);
    {
        let _installed = account.install();
        let patterns: Vec<_> = (0..100).map(|i| compiled(&format!(r"\w{{12}}{i}"))).collect();
        assert!(meter::take_work() < 100 * 100);
        assert!(super::compiled_bytes() - before < 100 * 4096);
        drop(patterns);
    }
    assert_eq!(account.live, 0);
}

#[test]
fn automata_are_charged_when_they_are_built() {
    let mut account = Account::new(10 << 20);
    {
        let _installed = account.install();
        let regex = compiled(r"(?:\w\d?){9}!$");
        find(&regex, "abc\n", 0).expect("within limits");
        find(&regex, "abc", 0).expect("within limits");
        regex.matches("abc").expect("within limits");
        drop(regex);
    }
    assert!(account.peak > 1_000_000, "three automata: {}", account.peak);
    assert!(account.live < 4096, "what is left are notes of what has been paid: {}", account.live);
    let mut poor = Account::new(100_000);
    let _installed = poor.install();
    let error = find(&compiled(r"(?:\w\d?){9}!$"), "abc", 0).expect_err("too large for it");
    assert_eq!(error.message(), "heap limit 100000 bytes exceeded");
}

#[test]
fn patterns_too_dear_for_automata_cost_little() {
    let mut account = Account::new(10 << 20);
    let _installed = account.install();
    meter::set_work_limit(25_000_000);
    for source in [r"\w{40}N", r"(?:(?:a{50}){50}){50}", r"(?:\p{L}|\p{N}){1,90}x", r"(?i:[\w\p{L}]{20})"] {
        meter::take_work();
        let before = super::compiled_bytes();
        find(&compiled(source), "some text", 0).expect("within limits");
        let (steps, bytes) = (meter::take_work(), super::compiled_bytes() - before);
        assert!(steps < 5_000 && bytes < 100_000, "{source}: {steps} steps, {bytes} bytes");
    }
}

#[test]
fn what_a_thread_keeps_is_bounded() {
    const PATTERNS: usize = 200;
    let mut first = 0;
    for i in 0..PATTERNS {
        let regex = compiled(&format!(r"(?:\w\w|{i})\p{{L}}+x"));
        find(&regex, "ab", 0).expect("within limits");
        find(&regex, &"ab ".repeat(500), 0).expect("within limits");
        if i == 0 {
            first = super::compiled_bytes();
        }
    }
    assert!(first * PATTERNS > 2 * (9 << 20), "all of them are twice what may be kept: {first} bytes each");
    assert!(super::compiled_bytes() < 9 << 20, "{}", super::compiled_bytes());
    super::give_way();
    assert_eq!(super::compiled_bytes(), 0);
}

#[test]
fn a_pattern_may_bound_how_far_a_search_looks_beyond_its_match() {
    let overrun = |source: &str| parse(source).expect("a pattern").node.overrun();
    let bounded = [
        (",", 1),
        ("a|bcd", 3),
        (r"\s+", 2),
        (r"(\d)*", 1),
        (r"code=(\d+)", 7),
        (r"a{2,}|b", 3),
        (r"\d{4}-\d{2}", 7),
    ];
    for (source, characters) in bounded {
        assert_eq!(overrun(source), Some(characters), "{source}");
    }
    // Something longer may begin with a match and end anywhere.
    for source in ["a.*z|a", "[a-z]+[0-9]+", "(ab*)+", "a+b"] {
        assert_eq!(overrun(source), None, "{source}");
    }
}

#[test]
fn a_search_is_followed_to_where_it_stops() {
    let long = "a".repeat(10_000);
    let cases = [
        // A match is noticed one byte late.
        ("[a-z]+[0-9]+", "ab12 cd34", 0, 2),
        ("[a-z]+[0-9]+", "ab12 cd34", 4, 0),
        ("a.*z|a", "aaaa\naaaa", 0, 4),
        ("a.*z|a", "baaaa\naaaa", 1, 4),
        // What began earlier goes on, too.
        ("c.*z|a", "bcbabb\nbz", 0, 3),
        ("\".*?\"", "\"q\" and \"r\"", 0, 2),
        ("(?m)^(.*)$", "ab\ncd\n", 0, 2),
        ("a[^z]*z|a", &long, 100, 9_899),
        // It cannot tell what a word is there.
        (r"\ba.*z|a", "a bb日b\na", 0, 8),
        (r"(?s)\ba.*z|a", "a bb日b\na", 0, 9),
    ];
    for (source, text, from, bytes) in cases {
        let regex = compiled(source);
        let (_, end) = find(&regex, text, from).expect("within limits").expect("a match")[0].expect("whole");
        let linear = linear(source);
        let looker = linear.looker(Variant::Find).expect("small");
        let (mut looked, mut most) = (0, 0);
        let charge = |bytes: usize| {
            looked += bytes;
            most = most.max(bytes);
            Ok::<(), std::convert::Infallible>(())
        };
        looker.follow(&mut looker.dfa().create_cache(), text, from..end, 4 << 10, charge).expect("charged");
        assert_eq!(looked, bytes, "{source} on {text:?}");
        assert!(most <= 4 << 10, "{source}: {most} bytes at once");
    }
}
