use ptc_mcp::Revision;
use ptc_mcp::json::{Value, from_str};

use super::{Form, FormDialect, FormFault, Wanted};

/// One field of each kind, each with all that it may say.
const EVERYTHING: &str = r#"{"type":"object","properties":{
    "name":{"type":"string","title":"Your name","description":"As on the\ndoor","minLength":2,"maxLength":5,"pattern":"^[a-z]+$","default":"ann"},
    "mail":{"type":"string","format":"email"},
    "ratio":{"type":"number","minimum":0.5,"maximum":1e3,"default":1},
    "count":{"type":"integer","minimum":1,"maximum":9007199254740993,"default":3},
    "sure":{"type":"boolean","default":false},
    "region":{"type":"string","enum":["eu","us"],"default":"eu"},
    "zone":{"type":"string","oneOf":[{"const":"a","title":"First"},{"const":"b","title":"Second"}],"default":"b"},
    "tags":{"type":"array","items":{"type":"string","enum":["x","y","z"]},"minItems":1,"maxItems":2,"default":["x"]},
    "more":{"type":"array","items":{"anyOf":[{"const":"p","title":"P"}]}}
},"required":["count","name"]}"#;

fn form(properties: &str) -> Form {
    Form::parse(&format!(r#"{{"type":"object","properties":{properties}}}"#)).expect("a form")
}

fn json(text: &str) -> Value {
    from_str(text).expect("JSON")
}

#[test]
fn all_that_clients_can_show_is_read_and_written_back() {
    let form = Form::parse(EVERYTHING).expect("a form");
    let names: Vec<&str> = form.fields().iter().map(|field| &*field.name).collect();
    assert_eq!(names, ["name", "mail", "ratio", "count", "sure", "region", "zone", "tags", "more"]);
    assert_eq!(
        form.to_json(FormDialect::Current),
        concat!(
            r#"{"type":"object","properties":{"#,
            r#""name":{"type":"string","title":"Your name","description":"As on the\ndoor","minLength":2,"maxLength":5,"pattern":"^[a-z]+$","default":"ann"},"#,
            r#""mail":{"type":"string","format":"email"},"#,
            r#""ratio":{"type":"number","minimum":0.5,"maximum":1e+3,"default":1},"#,
            r#""count":{"type":"integer","minimum":1,"maximum":9007199254740993,"default":3},"#,
            r#""sure":{"type":"boolean","default":false},"#,
            r#""region":{"type":"string","enum":["eu","us"],"default":"eu"},"#,
            r#""zone":{"type":"string","oneOf":[{"const":"a","title":"First"},{"const":"b","title":"Second"}],"default":"b"},"#,
            r#""tags":{"type":"array","items":{"type":"string","enum":["x","y","z"]},"minItems":1,"maxItems":2,"default":["x"]},"#,
            r#""more":{"type":"array","items":{"anyOf":[{"const":"p","title":"P"}]}}"#,
            r#"},"required":["name","count"]}"#,
        )
    );
    assert_eq!(Form::parse(&form.to_json(FormDialect::Current)).as_ref(), Ok(&form));
}

#[test]
fn clients_of_2025_06_18_get_what_that_revision_has() {
    let form = form(
        r#"{"zone":{"type":"string","oneOf":[{"const":"a","title":"First"}],"default":"a"},
            "name":{"type":"string","pattern":"x","default":"ann","maxLength":3},
            "count":{"type":"integer","default":3},"sure":{"type":"boolean","default":true}}"#,
    );
    assert!(form.fits(FormDialect::V2025_06_18) && form.fits(FormDialect::Current));
    assert_eq!(
        form.to_json(FormDialect::V2025_06_18),
        concat!(
            r#"{"type":"object","properties":{"zone":{"type":"string","enum":["a"],"enumNames":["First"]},"#,
            r#""name":{"type":"string","maxLength":3},"count":{"type":"integer"},"sure":{"type":"boolean","default":true}}}"#,
        )
    );
    let several = Form::parse(EVERYTHING).expect("a form");
    assert!(!several.fits(FormDialect::V2025_06_18) && several.fits(FormDialect::Current));
    assert_eq!(FormDialect::of(Revision::V2025_06_18), FormDialect::V2025_06_18);
    assert_eq!(FormDialect::of(Revision::V2025_11_25), FormDialect::Current);
}

#[test]
fn titles_of_the_former_revision_are_titles() {
    let form = form(r#"{"zone":{"type":"string","enum":["a","b"],"enumNames":["First","Second"]}}"#);
    let Wanted::One { choices, .. } = &form.fields()[0].wanted else { panic!("{form:?}") };
    assert_eq!(choices.iter().map(super::Choice::label).collect::<Vec<_>>(), ["First", "Second"]);
    // They are handed on as they came, to whoever asks and to whoever is asked.
    let written = form.to_json(FormDialect::Current);
    assert!(written.contains(r#""enum":["a","b"],"enumNames":["First","Second"]"#), "{written}");
    assert_eq!(Form::parse(&written).as_ref(), Ok(&form));
}

#[test]
fn what_generators_of_schemas_add_outermost_is_no_fault() {
    let text = r#"{"$schema":"https://json-schema.org/draft/2020-12/schema","title":"T","description":"D",
        "type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}"#;
    let form = Form::parse(text).expect("a form");
    assert_eq!(
        form.to_json(FormDialect::Current),
        r#"{"type":"object","properties":{"a":{"type":"string"}}}"#
    );
}

#[test]
fn what_is_no_flat_form_is_refused_with_its_place() {
    let cases = [
        ("[1]", "it must be an object, got [1]"),
        ("{", "it is not JSON, or nests too deeply"),
        (r#"{"properties":{}}"#, r#""type" must be "object", got nothing"#),
        (r#"{"type":"string","properties":{}}"#, r#""type" must be "object", got "string""#),
        (r#"{"type":"object"}"#, r#""properties" must be an object, got nothing"#),
        (r##"{"type":"object","properties":{},"$ref":"#/a"}"##, r#"unsupported keyword "$ref""#),
        (r#"{"type":"object","properties":{},"$defs":{}}"#, r#"unsupported keyword "$defs""#),
        (
            r#"{"type":"object","properties":{},"additionalProperties":{}}"#,
            r#""additionalProperties" must be true or false"#,
        ),
        (
            r#"{"type":"object","properties":{},"required":["a"]}"#,
            r#""required" has "a", which is no property"#,
        ),
        (r#"{"type":"object","properties":{},"required":"a"}"#, r#""required" must be strings, got "a""#),
        (r#"{"type":"object","properties":{},"type":"object"}"#, r#"the key "type" stands twice"#),
    ];
    for (schema, detail) in cases {
        assert_eq!(Form::parse(schema), Err(FormFault::NotFlat(detail.to_owned())), "{schema}");
    }
    let fields = [
        ("true", "its schema must be an object, got true"),
        (r##"{"$ref":"#/$defs/A"}"##, r#"it has no "type", but "$ref""#),
        (r#"{"title":"A"}"#, r#""type" must be a string, got nothing"#),
        (r#"{"type":["string","null"]}"#, r#""type" must be a string, got ["string","null"]"#),
        (r#"{"type":"object","properties":{}}"#, r#"unsupported type "object""#),
        (r#"{"type":"null"}"#, r#"unsupported type "null""#),
        (r#"{"type":"string","const":"a"}"#, r#"unsupported keyword "const""#),
        (
            r#"{"type":"string","format":"uuid"}"#,
            r#""format" must be email, uri, date or date-time, got "uuid""#,
        ),
        (
            r#"{"type":"string","minLength":-1}"#,
            r#""minLength" must be an integer that is not negative, got -1"#,
        ),
        (r#"{"type":"string","minLength":3,"maxLength":2}"#, r#""minLength" is above "maxLength""#),
        (r#"{"type":"string","default":1}"#, r#""default" must be a string, got 1"#),
        (r#"{"type":"string","title":1}"#, r#""title" must be a string, got 1"#),
        (r#"{"type":"number","exclusiveMinimum":1}"#, r#"unsupported keyword "exclusiveMinimum""#),
        (r#"{"type":"number","minimum":1e999}"#, r#""minimum" must be a number, got 1e+999"#),
        (r#"{"type":"integer","minimum":3,"maximum":2.5}"#, r#""minimum" is above "maximum""#),
        (r#"{"type":"integer","default":1.5}"#, r#""default" must be an integer, got 1.5"#),
        (r#"{"type":"boolean","default":"no"}"#, r#""default" must be true or false, got "no""#),
        (r#"{"type":"string","enum":[]}"#, r#""enum" must be strings, got []"#),
        (r#"{"type":"string","enum":["a",1]}"#, r#""enum" must be strings, got ["a",1]"#),
        (
            r#"{"type":"string","enum":["a"],"oneOf":[{"const":"a","title":"A"}]}"#,
            r#"unsupported keyword "enum""#,
        ),
        (
            r#"{"type":"string","enum":["a"],"enumNames":[]}"#,
            r#""enumNames" must be strings, one for each of "enum""#,
        ),
        (
            r#"{"type":"string","oneOf":[{"const":"a"}]}"#,
            r#""oneOf" must be objects with "const" and "title", got [{"const":"a"}]"#,
        ),
        (r#"{"type":"array"}"#, r#""items" must be an object, got nothing"#),
        (r#"{"type":"array","items":{"type":"string"}}"#, r#""enum" must be strings, got nothing"#),
        (
            r#"{"type":"array","items":{"type":"integer","enum":["a"]}}"#,
            r#"items: "type" must be "string", got "integer""#,
        ),
        (r#"{"type":"array","items":{"type":"array","items":{}}}"#, r#"items: unsupported keyword "items""#),
        (
            r#"{"type":"array","items":{"type":"string","enum":["a"]},"uniqueItems":true}"#,
            r#"unsupported keyword "uniqueItems""#,
        ),
    ];
    for (schema, detail) in fields {
        let schema = format!(r#"{{"type":"object","properties":{{"a":{schema}}}}}"#);
        let fault = FormFault::NotFlat(format!("property \"a\": {detail}"));
        assert_eq!(Form::parse(&schema), Err(fault), "{schema}");
    }
    assert_eq!(
        FormFault::NotFlat("unsupported keyword \"$ref\"".to_owned()).to_string(),
        "schema is not a flat form: unsupported keyword \"$ref\""
    );
}

#[test]
fn forms_are_bounded() {
    let with = |fields: usize| {
        let fields: Vec<String> = (0..fields).map(|at| format!(r#""f{at}":{{"type":"string"}}"#)).collect();
        Form::parse(&format!(r#"{{"type":"object","properties":{{{}}}}}"#, fields.join(",")))
    };
    assert_eq!(with(64).expect("a form").fields().len(), 64);
    assert_eq!(with(65), Err(FormFault::NotFlat("it has more than 64 properties".to_owned())));
    let around = r#"{"type":"object","properties":{"a":{"type":"string","title":""}}}"#;
    let titled =
        |title: String| Form::parse(&around.replace(r#""title":"""#, &format!(r#""title":"{title}""#)));
    let room = Form::MAX_BYTES - around.len();
    assert!(titled("x".repeat(room)).is_ok());
    let too_big = Err(FormFault::NotFlat("it has more than 65536 bytes".to_owned()));
    assert_eq!(titled("x".repeat(room + 1)), too_big);
    // What it becomes counts as well: each of these is written with six characters.
    assert_eq!(titled("\u{202e}".repeat(room / 3)), too_big);
    let deep = format!("{}{}", r#"{"a":"#.repeat(17), "1");
    assert_eq!(
        Form::parse(&format!("{deep}{}", "}".repeat(17))),
        Err(FormFault::NotFlat("it is not JSON, or nests too deeply".to_owned()))
    );
}

#[test]
fn fields_for_secrets_are_refused() {
    let schema = r#"{"type":"object","properties":{"user":{"type":"string"},"Pass-Word":{"type":"string"}}}"#;
    let fault = Form::parse(schema).expect_err("it asks for a password");
    assert_eq!(fault, FormFault::Secret("Pass-Word".to_owned()));
    assert_eq!(fault.to_string(), "a form must not ask for secrets (\"Pass-Word\")");
}

#[test]
fn hidden_characters_are_shown_to_people_and_kept_in_answers() {
    let form = form(
        r#"{"a":{"type":"string","title":"x\u202ey","description":"one\ntwo\u001b[2J","enum":["p\u200bq","r"]}}"#,
    );
    let field = &form.fields()[0];
    assert_eq!(field.title.as_deref(), Some("x\\u202ey"));
    assert_eq!(field.description.as_deref(), Some("one\ntwo\\u001b[2J"));
    let Wanted::One { choices, .. } = &field.wanted else { panic!("{field:?}") };
    assert_eq!(choices.iter().map(super::Choice::label).collect::<Vec<_>>(), ["p\\u200bq", "r"]);
    assert_eq!(form.check(&json("{\"a\":\"p\u{200b}q\"}")), Ok(()));
    assert_eq!(Form::parse(&form.to_json(FormDialect::Current)).as_ref(), Ok(&form));
    let named = Form::parse("{\"type\":\"object\",\"properties\":{\"a\u{202e}b\":{\"type\":\"string\"}}}");
    let detail = "property \"a\\u202eb\": its name has hidden characters";
    assert_eq!(named, Err(FormFault::NotFlat(detail.to_owned())));
}

#[test]
fn answers_are_checked() {
    let form = Form::parse(EVERYTHING).expect("a form");
    let all = r#"{"name":"ännë","mail":"a@b.c","ratio":1e2,"count":9007199254740993,"sure":true,"region":"us",
        "zone":"a","tags":["z","x"],"more":[]}"#;
    assert_eq!(form.check(&json(all)), Ok(()));
    assert_eq!(form.check(&json(r#"{"name":"ann","count":2.0}"#)), Ok(()));
    let faults = [
        (r#"[]"#, r#"the content must be an object, got []"#),
        (r#"{}"#, r#"field "name": got nothing, wanted a string, 2 to 5 characters"#),
        (r#"{"name":"a","count":1}"#, r#"field "name": got "a", wanted a string, 2 to 5 characters"#),
        (
            r#"{"name":"annnna","count":1}"#,
            r#"field "name": got "annnna", wanted a string, 2 to 5 characters"#,
        ),
        (r#"{"name":null,"count":1}"#, r#"field "name": got null, wanted a string, 2 to 5 characters"#),
        (r#"{"name":"ann"}"#, r#"field "count": got nothing, wanted an integer from 1 to 9007199254740993"#),
        (
            r#"{"name":"ann","count":9007199254740994}"#,
            r#"field "count": got 9007199254740994, wanted an integer from 1 to 9007199254740993"#,
        ),
        (
            r#"{"name":"ann","count":1.5}"#,
            r#"field "count": got 1.5, wanted an integer from 1 to 9007199254740993"#,
        ),
        (
            r#"{"name":"ann","count":"1"}"#,
            r#"field "count": got "1", wanted an integer from 1 to 9007199254740993"#,
        ),
        (r#"{"name":"ann","count":1,"mail":"x"}"#, r#"field "mail": got "x", wanted an email address"#),
        (
            r#"{"name":"ann","count":1,"ratio":0.4}"#,
            r#"field "ratio": got 0.4, wanted a number from 0.5 to 1e+3"#,
        ),
        (
            r#"{"name":"ann","count":1,"ratio":1e999}"#,
            r#"field "ratio": got 1e+999, wanted a number from 0.5 to 1e+3"#,
        ),
        (r#"{"name":"ann","count":1,"sure":"yes"}"#, r#"field "sure": got "yes", wanted true or false"#),
        (
            r#"{"name":"ann","count":1,"region":"ap"}"#,
            r#"field "region": got "ap", wanted one of "eu", "us""#,
        ),
        (
            r#"{"name":"ann","count":1,"zone":"First"}"#,
            r#"field "zone": got "First", wanted one of "a", "b""#,
        ),
        (
            r#"{"name":"ann","count":1,"tags":[]}"#,
            r#"field "tags": got [], wanted an array of different ones of "x", "y", "z", 1 to 2 of them"#,
        ),
        (
            r#"{"name":"ann","count":1,"tags":["x","x"]}"#,
            r#"field "tags": got ["x","x"], wanted an array of different ones of "x", "y", "z", 1 to 2 of them"#,
        ),
        (
            r#"{"name":"ann","count":1,"more":["q"]}"#,
            r#"field "more": got ["q"], wanted an array of different ones of "p""#,
        ),
        (r#"{"name":"ann","count":1,"x":1}"#, r#"got a field "x", which the form does not have"#),
    ];
    for (content, fault) in faults {
        assert_eq!(form.check(&json(content)), Err(fault.to_owned()), "{content}");
    }
}

#[test]
fn a_question_of_yes_or_no_has_no_fields() {
    let form = Form::yes_or_no();
    assert_eq!(form.to_json(FormDialect::V2025_06_18), r#"{"type":"object","properties":{}}"#);
    assert_eq!(Form::parse(&form.to_json(FormDialect::Current)).as_ref(), Ok(&form));
    assert_eq!(form.check(&json("{}")), Ok(()));
    assert_eq!(form.check(&json(r#"{"a":1}"#)), Err("got a field \"a\", but the form has none".to_owned()));
}

#[test]
fn long_lists_of_choices_are_cut_in_faults() {
    let choices: Vec<String> = (0..25).map(|at| format!("\"c{at}\"")).collect();
    let form = form(&format!(r#"{{"a":{{"type":"string","enum":[{}]}}}}"#, choices.join(",")));
    let fault = form.check(&json(r#"{"a":"x"}"#)).expect_err("no choice");
    assert!(fault.ends_with("\"c18\", \"c19\" and 5 more"), "{fault}");
}

#[test]
fn a_program_s_required_fields_come_first_in_its_order() {
    let text = r#"{"type":"object","required":["region","n"],
        "properties":{"a":{"type":"string"},"n":{"type":"integer"},"region":{"type":"string"}}}"#;
    let names = |form: Form| form.fields().iter().map(|field| field.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(Form::of_program(text).expect("a form")), ["region", "n", "a"]);
    assert_eq!(names(Form::parse(text).expect("a form")), ["a", "n", "region"]);
}
