//! Files that are wrong, each with its sentence, and files that are right.

use super::policy;
use crate::Policy;
use crate::policy::MAX_FILE_BYTES;

/// A file whose first rule has these members beside `match`.
fn rule(members: &str) -> String {
    format!(r#"{{"rules": [{{"match": {{}}, {members}}}]}}"#)
}

/// A file whose first rule says this of the upstream `s`.
fn upstream(members: &str) -> String {
    rule(&format!(r#""upstreams": {{"s": {{{members}}}}}"#))
}

/// A file with this rule for the argument `a` of the tool `t`.
fn argument(members: &str) -> String {
    upstream(&format!(r#""allow": ["t"], "args": {{"t": {{"a": {{{members}}}}}}}"#))
}

fn error(text: &str) -> String {
    Policy::parse(text).map(|policy| format!("{policy:?}")).expect_err(text).to_string()
}

#[test]
fn a_bad_file_is_refused_with_the_place_of_its_fault() {
    let cases: &[(&str, &str)] = &[
        // The file.
        ("[]", "the file must be an object, got []"),
        ("{}", "rules must be a list"),
        (r#"{"rules": {}}"#, "rules must be a list, got {}"),
        (r#"{"rules": [], "rule": []}"#, "rule is no known key; did you mean rules?"),
        (r#"{"rules": [], "xyzzy": []}"#, "xyzzy is no known key; it has default, scope_implies, rules"),
        (r#"{"rules": [], "default": "none"}"#, r#"default must be "allow" or "deny", got "none""#),
        (r#"{"rules": [], "default": true}"#, r#"default must be "allow" or "deny", got true"#),
        (
            r#"{"rules": [], "rules": []}"#,
            r#"an object has the key "rules" twice, the second time at line 1, column 15"#,
        ),
        (r#"{"rules": [], "scope_implies": ["a"]}"#, "scope_implies must be an object, got [\"a\"]"),
        (r#"{"rules": [], "scope_implies": {"a": "b"}}"#, "scope_implies.a must be a list, got \"b\""),
        (
            r#"{"rules": [], "scope_implies": {"a": [""]}}"#,
            "scope_implies.a must be a list of scopes, got [\"\"]",
        ),
        (
            r#"{"rules": [], "scope_implies": {"a": [1]}}"#,
            "scope_implies.a must be a list of scopes, got [1]",
        ),
        // Rules.
        (r#"{"rules": [1]}"#, "rules[0] must be an object, got 1"),
        (r#"{"rules": [{}]}"#, "rules[0].match must be an object; {} matches every caller"),
        (r#"{"rules": [{"match": "ci"}]}"#, "rules[0].match must be an object, got \"ci\""),
        (
            r#"{"rules": [{"match": {}}, {"match": {}, "limit": {}}]}"#,
            "rules[1].limit is no known key; did you mean limits?",
        ),
        (
            r#"{"rules": [{"match": {}, "name": ""}]}"#,
            "rules[0].name must be a string with at least one character, got \"\"",
        ),
        (
            r#"{"rules": [{"match": {}, "name": "a"}, {"match": {}, "name": "b"}, {"match": {}, "name": "a"}]}"#,
            "rules[2].name is that of rules[0]",
        ),
        (r#"{"rules": [{"match": {}, "operator": 1}]}"#, "rules[0].operator must be true or false, got 1"),
        // Callers.
        (
            r#"{"rules": [{"match": {"principle": "ci"}}]}"#,
            "rules[0].match.principle is no known key; did you mean principal?",
        ),
        (
            r#"{"rules": [{"match": {"principal": ""}}]}"#,
            "rules[0].match.principal must be a string with at least one character, got \"\"",
        ),
        (
            r#"{"rules": [{"match": {"scope": ["a"]}}]}"#,
            "rules[0].match.scope must be a string with at least one character, got [\"a\"]",
        ),
        (
            r#"{"rules": [{"match": {"claim": {}}}]}"#,
            "rules[0].match.claim must name a claim; leave it out to ask for none",
        ),
        (
            r#"{"rules": [{"match": {"claim": {"groups": ["a"]}}}]}"#,
            "rules[0].match.claim.groups must be a string with at least one character, got [\"a\"]",
        ),
        (
            r#"{"rules": [{"match": {"claim": {"groups": "a", "groups": "b"}}}]}"#,
            r#"an object has the key "groups" twice, the second time at line 1, column 48"#,
        ),
    ];
    for (text, sentence) in cases {
        assert_eq!(error(text), format!("policy: {sentence}"), "{text}");
    }
    assert!(error("{").starts_with("policy: the file is no JSON: "), "{}", error("{"));
    assert!(error("").starts_with("policy: the file is no JSON: "));
}

#[test]
fn what_a_rule_grants_is_read_strictly() {
    for (members, sentence) in [
        (
            "",
            "rules[0].upstreams.s must say what is granted, as {\"allow\": [\"get_*\"]} does; leave it out to grant nothing",
        ),
        (r#""alow": ["*"]"#, "rules[0].upstreams.s.alow is no known key; did you mean allow?"),
        (r#""allow": "*""#, "rules[0].upstreams.s.allow must be a list, got \"*\""),
        (
            r#""allow": []"#,
            "rules[0].upstreams.s.allow must be a list with at least one pattern, got []; leave it out to grant nothing",
        ),
        (
            r#""allow": ["a", ""]"#,
            "rules[0].upstreams.s.allow[1] must be a pattern with at least one character, got \"\"",
        ),
        (
            r#""deny": [7]"#,
            "rules[0].upstreams.s.deny[0] must be a pattern with at least one character, got 7",
        ),
        (
            r#""list": [null]"#,
            "rules[0].upstreams.s.list[0] must be a pattern with at least one character, got null",
        ),
        (
            r#""resources": [""]"#,
            "rules[0].upstreams.s.resources[0] must be a pattern with at least one character, got \"\"",
        ),
        (r#""prompts": {}"#, "rules[0].upstreams.s.prompts must be a list, got {}"),
        (r#""allow": ["a", "b*"], "deny": ["b*"]"#, r#"rules[0].upstreams.s allows and denies "b*""#),
        (
            r#""identity": "own""#,
            r#"rules[0].upstreams.s.identity must be "per_principal" or "shared", got "own""#,
        ),
        (r#""args": []"#, "rules[0].upstreams.s.args must be an object, got []"),
        (r#""allow": ["t"], "args": {"t": []}"#, "rules[0].upstreams.s.args.t must be an object, got []"),
        (
            r#""allow": ["t"], "args": {"t": {}}"#,
            "rules[0].upstreams.s.args.t must name an argument; leave it out to permit all",
        ),
        (
            r#""allow": ["t"], "args": {"u": {"a": {"max": 1}}}"#,
            "rules[0].upstreams.s.args.u is about a tool that allow does not have",
        ),
        (
            r#""args": {"u": {"a": {"max": 1}}}"#,
            "rules[0].upstreams.s.args.u is about a tool that allow does not have",
        ),
    ] {
        assert_eq!(error(&upstream(members)), format!("policy: {sentence}"), "{members}");
    }
    assert_eq!(
        error(&rule(r#""upstreams": {"": {"allow": ["*"]}}"#)),
        "policy: rules[0].upstreams. is about an upstream without a name"
    );
    assert_eq!(
        error(&rule(r#""upstreams": {"s": []}"#)),
        "policy: rules[0].upstreams.s must be an object, got []"
    );
}

#[test]
fn rules_on_arguments_are_read_strictly() {
    let path = "a path that can be read in one way only, such as \"/reports\"";
    let flat = "a list of strings, numbers and booleans, with at least one";
    for (members, sentence) in [
        ("", ".a must have one of in, equals, prefix, under, min, max".to_owned()),
        (r#""$comment": "x""#, ".a must have one of in, equals, prefix, under, min, max".to_owned()),
        (
            r#""least": 1"#,
            ".a.least is no known key; it has in, equals, prefix, under, min, max, ignore_case, percent"
                .to_owned(),
        ),
        (r#""in": []"#, format!(".a.in must be {flat}, got []")),
        (r#""in": "x""#, ".a.in must be a list, got \"x\"".to_owned()),
        (r#""in": [["x"]]"#, format!(".a.in must be {flat}, got [[\"x\"]]")),
        (r#""in": [null]"#, format!(".a.in must be {flat}, got [null]")),
        (r#""equals": {}"#, ".a.equals must be a string, a number or a boolean, got {}".to_owned()),
        (r#""equals": null"#, ".a.equals must be a string, a number or a boolean, got null".to_owned()),
        (r#""in": [1], "equals": 1"#, ".a has in and equals; keep one".to_owned()),
        (r#""prefix": """#, ".a.prefix must be a string with at least one character, got \"\"".to_owned()),
        (r#""prefix": 1"#, ".a.prefix must be a string with at least one character, got 1".to_owned()),
        (r#""under": "/a/../..""#, format!(".a.under must be {path}, got \"/a/../..\"")),
        (r#""under": "/50%""#, format!(".a.under must be {path}, got \"/50%\"")),
        (r#""under": "C:\\a""#, format!(".a.under must be {path}, got \"C:\\\\a\"")),
        (
            r#""under": "/a", "percent": "keep""#,
            r#".a.percent must be "decode" or "literal", got "keep""#.to_owned(),
        ),
        (
            r#""under": "/a", "ignore_case": "yes""#,
            ".a.ignore_case must be true or false, got \"yes\"".to_owned(),
        ),
        (r#""max": 1, "ignore_case": true"#, ".a has ignore_case or percent without under".to_owned()),
        (r#""prefix": "a", "percent": "literal""#, ".a has ignore_case or percent without under".to_owned()),
        (r#""max": "10""#, ".a.max must be a number, got \"10\"".to_owned()),
        (r#""max": 10, "min": null"#, ".a.min must be a number, got null".to_owned()),
    ] {
        let sentence = format!("policy: rules[0].upstreams.s.args.t{sentence}");
        assert_eq!(error(&argument(members)), sentence, "{members}");
    }
}

#[test]
fn limits_are_positive_integers() {
    for (members, sentence) in [
        (r#""sessions": 0"#, ".sessions must be a positive integer, got 0"),
        (r#""sessions": -1"#, ".sessions must be a positive integer, got -1"),
        (r#""memory_bytes": 1.5"#, ".memory_bytes must be a positive integer, got 1.5"),
        (r#""memory_bytes": 1e9"#, ".memory_bytes must be a positive integer, got 1e+9"),
        (
            r#""steps_per_minute": 18446744073709551616"#,
            ".steps_per_minute must be a positive integer, got 18446744073709551616",
        ),
        (r#""calls_per_minute": "60""#, ".calls_per_minute must be a positive integer, got \"60\""),
        (r#""in_flight_calls": null"#, ".in_flight_calls must be a positive integer, got null"),
        (r#""call_per_minute": 1"#, ".call_per_minute is no known key; did you mean calls_per_minute?"),
    ] {
        let text = rule(&format!(r#""limits": {{{members}}}"#));
        assert_eq!(error(&text), format!("policy: rules[0].limits{sentence}"), "{members}");
    }
    assert_eq!(error(&rule(r#""limits": 3"#)), "policy: rules[0].limits must be an object, got 3");
}

#[test]
fn a_file_is_bounded_in_bytes_and_rules() {
    let with_rules = |count: usize| {
        let rules = vec![r#"{"match": {}}"#; count].join(",");
        format!(r#"{{"rules": [{rules}]}}"#)
    };
    assert_eq!(policy(&with_rules(1000)).rules(), 1000);
    assert_eq!(error(&with_rules(1001)), "policy: rules has 1001 members, more than 1000");
    let limit = usize::try_from(MAX_FILE_BYTES).unwrap();
    let padded = |bytes: usize| format!("{{\"rules\": []}}{}", " ".repeat(bytes - 13));
    assert_eq!(policy(&padded(limit)).rules(), 0);
    assert_eq!(error(&padded(limit + 1)), "policy: the file has 1048577 bytes, more than 1048576");
    assert!(error(&"[".repeat(limit)).starts_with("policy: the file is no JSON: "), "no stack is used up");
}

#[test]
fn names_of_the_file_show_no_hidden_characters() {
    assert_eq!(
        error("{\"rules\": [], \"a\\u001b[2J\": 1}"),
        "policy: a\\u001b[2J is no known key; it has default, scope_implies, rules"
    );
}

#[test]
fn editors_may_have_their_marks() {
    policy("\u{feff}{\"$schema\": \"https://x.example/policy.schema.json\", \"rules\": []}");
}

#[test]
fn rules_that_hide_what_the_default_allows_are_remarked() {
    let rules = r#""rules": [{"match": {}, "limits": {"sessions": 1}}, {"match": {}, "upstreams": {"s": {"list": ["*"]}}}]"#;
    let remarks = policy(&format!(r#"{{"default": "allow", {rules}}}"#)).remarks();
    assert_eq!(remarks.len(), 1);
    assert!(remarks[0].starts_with("rules[0] allows no tool: "), "{remarks:?}");
    assert!(policy(&format!("{{{rules}}}")).remarks().is_empty());
}

#[test]
fn what_can_never_hold_is_refused() {
    for (members, why) in [
        (r#""min": 5, "max": 3"#, "min is 5, and max 3"),
        (r#""in": ["a"], "max": 3"#, "none of its values fits what else it says"),
        (r#""equals": "/etc", "under": "/r""#, "none of its values fits what else it says"),
        (r#""in": [1, 2], "min": 3"#, "none of its values fits what else it says"),
        (r#""prefix": "a", "max": 3"#, "min and max want a number, prefix and under a string"),
    ] {
        let told = format!("policy: rules[0].upstreams.s.args.t.a permits nothing: {why}");
        assert_eq!(error(&argument(members)), told, "{members}");
    }
    for members in
        [r#""min": 3, "max": 3"#, r#""in": ["/r/a", "/x"], "under": "/r""#, r#""in": ["a", 2], "max": 3"#]
    {
        policy(&argument(members));
    }
    assert_eq!(
        error(&upstream(
            r#""allow": ["t"], "args": {"t": {"repo": {"equals": 1}, "x": {"min": 1}, "Re_po": {"min": 1}}}"#
        )),
        "policy: rules[0].upstreams.s.args.t has \"repo\" and \"Re_po\": a call with one of them is refused for the other"
    );
    for (conditions, why) in [
        (r#""issuer": "https://i""#, "no access token, and so no issuer"),
        (r#""scope": "a""#, "no access token, and so no scope"),
        (r#""claim": {"a": "b"}"#, "no access token, and so no claim"),
    ] {
        let text = format!(r#"{{"rules": [{{"match": {{"principal": "ci", {conditions}}}}}]}}"#);
        let told = format!("policy: rules[0].match matches nobody: the caller \"ci\" has {why}");
        assert_eq!(error(&text), told);
    }
    let of_ann = |conditions: &str| {
        format!(r#"{{"rules": [{{"match": {{"principal": "https://i|ann", {conditions}}}}}]}}"#)
    };
    assert!(error(&of_ann(r#""issuer": "https://j""#)).ends_with("has another issuer"));
    assert!(error(&of_ann(r#""subject": "ben""#)).ends_with("has another subject"));
    policy(&of_ann(r#""issuer": "https://i", "subject": "ann", "scope": "a", "claim": {"b": "c"}"#));
}

#[test]
fn rules_on_arguments_are_about_tools_that_their_rule_allows() {
    let with = |entries: &str| rule(&format!(r#""upstreams": {{{entries}}}"#));
    let args = |tool: &str| format!(r#""args": {{"{tool}": {{"a": {{"max": 1}}}}}}"#);
    for (entries, place) in [
        (format!(r#""s": {{"allow": ["create_issue"], {}}}"#, args("creat_*issues")), "s.args.creat_*issues"),
        (format!(r#""s": {{{}}}, "t": {{"allow": ["*"]}}"#, args("x")), "s.args.x"),
    ] {
        let told = format!("policy: rules[0].upstreams.{place} is about a tool that allow does not have");
        assert_eq!(error(&with(&entries)), told);
    }
    for entries in [
        format!(r#""s": {{"allow": ["create_issue"], {}}}"#, args("creat*")),
        format!(r#""*": {{"allow": ["get_*"]}}, "s": {{{}}}"#, args("get_issue")),
        format!(r#""s-*": {{"allow": ["*"]}}, "*-t": {{{}}}"#, args("x")),
    ] {
        policy(&with(&entries));
    }
}

#[test]
fn what_a_rule_says_in_vain_is_remarked() {
    let remarks = |members: &str| policy(&upstream(members)).remarks();
    assert_eq!(
        remarks(r#""allow": ["get_*", "put_a"], "deny": ["*_*"]"#),
        ["rules[0].upstreams.s allows nothing: deny has all that allow has"]
    );
    assert!(remarks(r#""allow": ["get_*", "put"], "deny": ["*_*"]"#).is_empty());
    let paths = |rule: &str| remarks(&format!(r#""allow": ["t"], "args": {{"t": {{"a": {{{rule}}}}}}}"#));
    assert!(
        paths(r#""under": "/r", "prefix": "/x""#)[0]
            .starts_with("rules[0].upstreams.s.args.t.a wants a path under")
    );
    assert!(
        paths(r#""under": "/r", "prefix": "/r/a""#).is_empty()
            && paths(r#""under": "/r/a", "prefix": "/r""#).is_empty()
    );
}
