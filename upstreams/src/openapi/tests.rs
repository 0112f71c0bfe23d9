//! Tests on whole documents: refusals, compiled tools, and the URLs of calls.

use ptc_mcp::json::{Value, json};

use super::compile::Operation;
use super::{Document, compile};
use crate::config::{LoadOptions, OpenApiConfig, ProcessEnv, Transport, UpstreamsConfig};

fn config(base_url: &str, include: &[&str], overrides: Value) -> OpenApiConfig {
    let file = json!({"upstreams": {"api": {
        "transport": "openapi", "base_url": base_url, "schema_file": "s.json", "include_operations": include,
        "operation_overrides": overrides
    }}});
    let options = LoadOptions { env: &ProcessEnv::default(), base_dir: None, own_exe: None };
    let upstream = UpstreamsConfig::from_value(&file, &options).unwrap().upstreams.remove(0);
    let Transport::OpenApi(config) = upstream.transport else { panic!("openapi") };
    config
}

fn compile_with(document: &Value, include: &[&str], overrides: Value) -> Result<Vec<Operation>, String> {
    let document = Document::decode(document.to_string().as_bytes()).unwrap();
    compile(&document, &config("https://h.example/proxy", include, overrides)).map_err(|fault| {
        assert_eq!(fault.reason.as_str(), "upstream_unavailable");
        fault.message
    })
}

/// A document with one operation `op` under `/things/{id}`, its keys changed.
fn document(change: Value) -> Value {
    let mut operation = json!({
        "operationId": "op",
        "parameters": [{"name": "id", "in": "path", "required": true, "schema": {"type": "string"}}],
        "responses": {"200": {"content": {"application/json": {"schema": {"type": "object"}}}}}
    });
    for (key, value) in change.as_object().unwrap() {
        operation[key] = value.clone();
    }
    json!({"openapi": "3.0.3", "paths": {"/things/{id}": {"get": operation}}})
}

fn refusal(change: Value) -> String {
    compile_with(&document(change), &["op"], json!({})).unwrap_err()
}

fn operation(change: Value, overrides: Value) -> Operation {
    compile_with(&document(change), &["op"], overrides).unwrap().remove(0)
}

#[test]
fn variables_of_servers_have_their_defaults() {
    let servers = |url: &str, default: &str| {
        let variables = json!({"host": {"default": default, "enum": ["h", "other"]}, "v": {"default": "v2"}});
        json!({"servers": [{"url": url, "variables": variables}]})
    };
    for (url, default) in [("https://{host}.example/{v}", "h"), ("/{v}", "h"), ("https://h.example", "other")]
    {
        operation(servers(url, default), json!({}));
    }
    for (url, default) in
        [("https://{host}.example", "other"), ("https://{none}.example", "h"), ("https://{host", "h")]
    {
        assert!(refusal(servers(url, default)).contains("cross-origin servers"), "{url}");
    }
}

#[test]
fn unknown_operations_are_named_together() {
    assert_eq!(
        compile_with(&document(json!({})), &["nope", "op", "neither"], json!({})).unwrap_err(),
        "OpenAPI include_operations not found: nope, neither"
    );
}

#[test]
fn each_check_names_the_operation() {
    let post = json!({"paths": {"/x": {"post": {"operationId": "op"}, "get": {"operationId": ""}}}});
    assert_eq!(
        compile_with(&post, &["op"], json!({})).unwrap_err(),
        "OpenAPI operation op uses unsupported method POST; v1 supports GET only"
    );
    assert_eq!(refusal(json!({"deprecated": true})), "OpenAPI operation op is deprecated");
    assert_eq!(
        refusal(json!({"requestBody": {}})),
        "OpenAPI operation op has requestBody; v1 GET bodies are unsupported"
    );
    for url in [
        "https://other.example/",
        "http://h.example/",
        "https://h.example:8443/",
        "//other.example/x",
        "https://{r}.example",
    ] {
        assert_eq!(
            refusal(json!({"servers": [{"url": "/v1"}, {"url": url}]})),
            "OpenAPI operation op has cross-origin servers; v1 requires base_url origin",
            "{url}"
        );
    }
    for place in ["header", "cookie"] {
        assert_eq!(
            refusal(json!({"parameters": [{"name": "X", "in": place}]})),
            format!("OpenAPI operation op has unsupported {place} parameter")
        );
    }
    assert_eq!(
        refusal(json!({"parameters": [{"name": "b", "in": "body"}]})),
        r#"OpenAPI operation op has unsupported parameter {"name":"b","in":"body"}"#
    );
    for parameter in [
        json!({"name": "id", "in": "path", "style": "matrix"}),
        json!({"name": "q", "in": "query", "content": {"application/json": {}}}),
        json!({"in": "query"}),
        json!("id"),
    ] {
        assert!(
            refusal(json!({"parameters": [parameter]}))
                .starts_with("OpenAPI operation op has unsupported parameter ")
        );
    }
    let dangling = refusal(json!({"parameters": [{"$ref": "#/components/parameters/None"}]}));
    assert!(dangling.contains("$ref parameters are unsupported in OpenAPI v1 compiler"), "{dangling}");
    assert!(dangling.starts_with("OpenAPI operation op "), "{dangling}");
    assert_eq!(
        refusal(json!({"parameters": []})),
        "OpenAPI operation op path template is missing declared path parameter(s): id"
    );
    assert_eq!(refusal(json!({"responses": {}})), "OpenAPI operation op has no 2xx response");
    assert_eq!(
        refusal(json!({"responses": {"default": {}, "404": {}}})),
        "OpenAPI operation op has no 2xx response"
    );
    assert_eq!(
        refusal(json!({"responses": {"200": {"content": {"text/csv": {}}}, "204": {}}})),
        "OpenAPI operation op has no JSON 2xx response; v1 supports JSON responses only"
    );
    let both = json!({"parameters": [{"name": "id", "in": "path"}, {"name": "id", "in": "query"}]});
    assert!(refusal(both).contains("a path and a query parameter of one name, \"id\""));
    let id = || json!({"name": "id", "in": "path"});
    assert_eq!(
        refusal(json!({"parameters": [id(), id()]})),
        "OpenAPI operation op declares parameter \"id\" twice"
    );
    let query = |n: usize| json!({"name": format!("q{n}"), "in": "query"});
    let many: Vec<Value> = (0..256).map(query).chain([id()]).collect();
    assert_eq!(
        refusal(json!({"parameters": many})),
        "OpenAPI operation op declares more than 256 parameters"
    );
    let wide: Vec<usize> = (0..100_000).collect();
    let wide = json!({"name": "wide", "in": "query", "schema": {"enum": wide}});
    assert_eq!(
        refusal(json!({"parameters": [id(), wide]})),
        "OpenAPI operation op has schemas of more than 100000 JSON nodes"
    );
}

#[test]
fn checks_come_in_their_order() {
    let all_wrong = json!({"deprecated": true, "requestBody": {}, "parameters": [], "responses": {}});
    assert_eq!(refusal(all_wrong), "OpenAPI operation op is deprecated");
    assert!(refusal(json!({"requestBody": {}, "parameters": []})).contains("has requestBody"));
    assert!(refusal(json!({"parameters": [], "responses": {}})).contains("path template is missing"));
}

#[test]
fn paths_that_are_no_paths_are_refused() {
    let mut document = document(json!({"parameters": []}));
    let operation = document["paths"]["/things/{id}"].take();
    document["paths"] = json!({"/a/../b": operation});
    assert_eq!(
        compile_with(&document, &["op"], json!({})).unwrap_err(),
        "OpenAPI operation op has an unusable path \"/a/../b\""
    );
}

#[test]
fn ambiguous_ids_and_names_are_refused() {
    let responses = json!({"200": {"content": {"application/json": {}}}});
    let twice = json!({"paths": {
        "/a": {"get": {"operationId": "op", "responses": responses}},
        "/b": {"get": {"operationId": "op", "responses": responses}},
        "/c": {"get": {"operationId": "listThings", "responses": responses}},
        "/d": {"get": {"operationId": "list_things", "responses": responses}}
    }});
    assert_eq!(
        compile_with(&twice, &["op"], json!({})).unwrap_err(),
        "OpenAPI operation op is defined more than once"
    );
    let same = json!({"list_things": {"name": "listThings"}});
    let text = compile_with(&twice, &["listThings", "list_things"], same).unwrap_err();
    assert_eq!(text.lines().next(), Some("OpenAPI operations share a tool name: listThings"));
    let named = compile_with(&twice, &["listThings", "list_things"], json!({})).unwrap();
    assert_eq!(named.iter().map(|o| o.name.as_str()).collect::<Vec<_>>(), ["listThings", "list_things"]);
}

#[test]
fn the_tool_has_the_shape_of_an_mcp_tool() {
    let document = json!({
        "paths": {"/api/v1/traces/{id}/steps": {
            "parameters": [{"$ref": "#/components/parameters/Id"}, {"name": "limit", "in": "query", "schema": {"type": "string"}}],
            "get": {
                "operationId": "list_trace_steps",
                "summary": "Steps of a trace",
                "parameters": [
                    {"name": "summary", "in": "query", "required": true, "schema": {"type": "boolean"}},
                    {"name": "limit", "in": "query", "schema": {"type": "integer"}},
                    {"name": "cursor", "in": "query"},
                    {"name": "org_id", "in": "query", "required": true, "schema": {"enum": ["a", "b"]}}
                ],
                "responses": {
                    "404": {"content": {"application/json": {"schema": {"type": "string"}}}},
                    "200": {"$ref": "#/components/responses/Steps"}
                }
            }
        }},
        "components": {
            "parameters": {"Id": {"name": "id", "in": "path", "required": true, "schema": {"$ref": "#/components/schemas/Id"}}},
            "schemas": {"Id": {"type": "string", "format": "uuid"}},
            "responses": {"Steps": {"content": {
                "text/plain": {},
                "application/json; charset=utf-8": {"schema": {"type": "array", "items": {"$ref": "#/components/schemas/Id"}}}
            }}}
        }
    });
    let overrides = json!({"list_trace_steps": {"default_args": {"summary": true}}});
    let operation = compile_with(&document, &["list_trace_steps"], overrides).unwrap().remove(0);
    assert_eq!(operation.id, "list_trace_steps");
    assert_eq!(
        operation.tool,
        json!({
            "name": "list_trace_steps",
            "description": "Steps of a trace",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "id": {"type": "string", "format": "uuid"},
                    "limit": {"type": "integer"},
                    "summary": {"type": "boolean"},
                    "cursor": {"type": "string"},
                    "org_id": {"enum": ["a", "b"], "type": "string"}
                },
                "required": ["id", "org_id"],
                "additionalProperties": false
            },
            "outputSchema": {"type": "array", "items": {"type": "string", "format": "uuid"}},
            "annotations": {"readOnlyHint": true},
            "_ptc": {"transport": "openapi", "operationId": "list_trace_steps", "method": "GET",
                "path": "/api/v1/traces/{id}/steps", "defaultArgs": {"summary": true}, "omittedParameters": []}
        })
    );
}

#[test]
fn names_descriptions_and_defaults_have_a_precedence() {
    let document = json!({"description": "long", "summary": "short", "x-ptc-name": "fromDocument",
        "x-ptc-default-args": {"id": "d"}});
    let plain = operation(document.clone(), json!({}));
    assert_eq!((plain.name.as_str(), &plain.tool["description"]), ("fromDocument", &json!("long")));
    assert_eq!(plain.tool["inputSchema"]["required"], json!([]));
    let overrides = json!({"op": {"name": "Mine", "description": "ours", "default_args": {}}});
    let overridden = operation(document, overrides);
    assert_eq!((overridden.name.as_str(), &overridden.tool["description"]), ("Mine", &json!("ours")));
    assert_eq!(overridden.tool["inputSchema"]["required"], json!(["id"]));
    assert_eq!(operation(json!({}), json!({})).tool["description"], "");
    assert_eq!(operation(json!({"x-ptc-default-args": 5}), json!({})).tool["_ptc"]["defaultArgs"], json!({}));
}

#[test]
fn empty_answers_have_the_type_null() {
    let output =
        |responses: Value| operation(json!({"responses": responses}), json!({})).tool["outputSchema"].clone();
    assert_eq!(output(json!({"204": {}})), json!({"type": "null"}));
    assert_eq!(output(json!({"200": {"description": "nothing"}})), json!({"type": "null"}));
    assert_eq!(output(json!({"2XX": {"content": {"application/vnd.api+json": {}}}})), json!({}));
    assert_eq!(
        output(json!({
            "201": {"content": {"application/json": {"schema": {"type": "string"}}}},
            "200": {"content": {"application/problem+JSON": {"schema": {"type": "integer"}}}}
        })),
        json!({"type": "integer"}),
        "the first by status"
    );
}

/// An operation `GET /api/v1/traces/{id}` with query parameters.
fn traces(overrides: Value) -> Operation {
    let query = |name: &str| json!({"name": name, "in": "query", "schema": {}});
    let document = json!({"paths": {"/api/v1/traces/{id}": {"get": {
        "operationId": "t",
        "parameters": [{"name": "id", "in": "path"}, query("org_id"), query("summary"), query("z z")],
        "responses": {"204": {}}
    }}}});
    compile_with(&document, &["t"], overrides).unwrap().remove(0)
}

fn url(arguments: Value) -> Result<String, String> {
    let base = "https://h.example/proxy".parse().unwrap();
    let arguments = arguments.to_string();
    traces(json!({})).url(&base, arguments.as_bytes()).map(|u| u.to_string()).map_err(|f| f.to_string())
}

#[test]
fn urls_join_base_path_and_query() {
    assert_eq!(
        url(json!({"id": "org/42", "org_id": "acme"})).unwrap(),
        "https://h.example/proxy/api/v1/traces/org%2F42?org_id=acme"
    );
    assert_eq!(url(json!({"id": 42})).unwrap(), "https://h.example/proxy/api/v1/traces/42");
    assert_eq!(
        url(json!({"id": "x", "z z": "a b&c=d", "org_id": 1.50, "summary": false})).unwrap(),
        "https://h.example/proxy/api/v1/traces/x?org_id=1.5&summary=false&z+z=a+b%26c%3Dd"
    );
    assert_eq!(
        url(json!({"id": "x", "org_id": null, "summary": ""})).unwrap(),
        "https://h.example/proxy/api/v1/traces/x?summary="
    );
    for (base, expected) in [
        ("https://h.example", "https://h.example/api/v1/traces/x"),
        ("https://h.example/", "https://h.example/api/v1/traces/x"),
        ("http://[::1]:8080/a%20b/", "http://[::1]:8080/a%20b/api/v1/traces/x"),
    ] {
        assert_eq!(
            traces(json!({})).url(&base.parse().unwrap(), br#"{"id":"x"}"#).unwrap().as_str(),
            expected
        );
    }
}

#[test]
fn arguments_that_make_no_url_are_faults() {
    assert_eq!(url(json!({})).unwrap_err(), "upstream_error: missing path args: id");
    assert_eq!(url(json!({"id": null})).unwrap_err(), "upstream_error: missing path args: id");
    assert_eq!(url(json!({"id": ""})).unwrap_err(), "upstream_error: missing path args: id");
    assert_eq!(
        url(json!({"id": "x", "org_id": [["a"]]})).unwrap_err(),
        "upstream_error: unsupported query arg 'org_id': the URL of this operation has no way to write such a value"
    );
    assert_eq!(
        url(json!({"id": {}})).unwrap_err(),
        "upstream_error: unsupported path arg 'id': the URL of this operation has no way to write such a value"
    );
    for dots in [".", ".."] {
        assert_eq!(
            url(json!({"id": dots})).unwrap_err(),
            "upstream_error: path args must not make . or .. segments of the path"
        );
    }
}

#[test]
fn no_value_leaves_the_prefix() {
    for value in [
        "../../admin",
        "..%2f..%2fadmin",
        "/",
        "//evil.example/",
        "\\..\\",
        "x?y#z",
        "@evil.example",
        "%2e%2e",
        "\u{0}\n",
        "..;/x",
    ] {
        let url = url(json!({"id": value})).unwrap();
        let tail = url.strip_prefix("https://h.example/proxy/api/v1/traces/").expect("the prefix stays");
        assert!(!tail.contains(['/', '?', '#', '\\']), "{url}");
    }
}

#[test]
fn default_arguments_are_overlaid() {
    let operation = traces(json!({"t": {"default_args": {"summary": true, "org_id": "acme"}}}));
    let base = "https://h.example".parse().unwrap();
    let query = |arguments: &str| {
        operation.url(&base, arguments.as_bytes()).unwrap().query().unwrap_or_default().to_owned()
    };
    assert_eq!(query(r#"{"id":"x"}"#), "org_id=acme&summary=true");
    assert_eq!(query(r#"{"id":"x","summary":false}"#), "org_id=acme&summary=false");
}

#[test]
fn default_arguments_that_no_call_could_carry_are_refused() {
    let text = |defaults: Value| {
        let document = document(json!({"parameters": [
            {"name": "id", "in": "path", "required": true, "schema": {"type": "string"}},
            {"name": "summary", "in": "query", "schema": {"type": "boolean"}}]}));
        compile_with(&document, &["op"], json!({"op": {"default_args": defaults}})).unwrap_err()
    };
    assert_eq!(
        text(json!({"sumary": true, "id": "x"})),
        "OpenAPI operation op has default_args that it does not take: sumary\n\
         Did you mean \"summary\"? It takes id, summary."
    );
    assert_eq!(
        text(json!({"summary": "maybe"})),
        "OpenAPI operation op has a default_args summary that must be true or false, got \"maybe\""
    );
}

#[test]
fn names_stay_as_they_are_written() {
    assert_eq!(
        operation(json!({}), json!({"op": {"name": "repos/list-for.org"}})).name,
        "repos/list-for.org"
    );
    for name in ["", " ", " x", "a\u{200b}b", "a\nb"] {
        let refused = compile_with(&document(json!({})), &["op"], json!({"op": {"name": name}})).unwrap_err();
        assert!(refused.contains("which no program can write"), "{name:?}: {refused}");
    }
}

#[test]
fn lists_and_maps_travel_as_the_document_says_and_the_rest_is_not_offered() {
    let list = json!({"type": "array", "items": {"type": "string"}});
    let map = json!({"type": "object", "properties": {"gt": {"type": "integer"}}});
    let query = |name: &str, schema: &Value, keys: Value| {
        let mut parameter = json!({"name": name, "in": "query", "schema": schema});
        parameter.as_object_mut().unwrap().extend(keys.as_object().unwrap().clone());
        parameter
    };
    let parameters = json!([
        {"name": "id", "in": "path", "required": true, "schema": {"type": "array", "items": {"type": "integer"}}},
        query("tags", &list, json!({})),
        query("ids", &list, json!({"explode": false})),
        query("pipes", &list, json!({"style": "pipeDelimited"})),
        query("size", &map, json!({"style": "deepObject", "explode": true})),
        query("filter", &map, json!({})),
        query("rows", &json!({"type": "array", "items": map}), json!({}))
    ]);
    let operation = operation(json!({"parameters": parameters}), json!({}));
    let offered: Vec<&String> =
        operation.tool["inputSchema"]["properties"].as_object().unwrap().keys().collect();
    assert_eq!(offered, ["id", "tags", "ids", "pipes", "size"]);
    assert_eq!(operation.tool["_ptc"]["omittedParameters"], json!(["filter", "rows"]));
    let url = |arguments: Value| {
        let base = "https://h.example".parse().unwrap();
        operation.url(&base, arguments.to_string().as_bytes()).unwrap().to_string()
    };
    assert_eq!(
        url(
            json!({"id": [3, 4], "tags": ["b", "a"], "ids": ["1", "2,3"], "pipes": ["x", "y"], "size": {"gt": 5}})
        ),
        "https://h.example/things/3,4?ids=1,2%2C3&pipes=x%7Cy&size%5Bgt%5D=5&tags=b&tags=a"
    );
    assert_eq!(url(json!({"id": [3], "tags": [], "ids": [], "size": {}})), "https://h.example/things/3");
    assert_eq!(
        refusal(json!({"parameters": [
            {"name": "id", "in": "path", "required": true, "schema": {"type": "string"}},
            {"name": "where", "in": "query", "required": true, "schema": {"type": "object"}}]})),
        "OpenAPI operation op requires parameter \"where\", whose values no URL can carry"
    );
}

#[test]
fn a_path_has_the_default_of_its_document() {
    let id =
        json!({"name": "id", "in": "path", "required": true, "schema": {"type": "string", "default": "me"}});
    let operation = operation(json!({"parameters": [id]}), json!({}));
    let base = "https://h.example".parse().unwrap();
    assert_eq!(operation.url(&base, b"{}").unwrap().as_str(), "https://h.example/things/me");
    assert_eq!(operation.url(&base, br#"{"id":"you"}"#).unwrap().as_str(), "https://h.example/things/you");
}

proptest::proptest! {
    #[test]
    fn any_text_is_one_segment(value in ".{1,20}") {
        if let Ok(url) = url(json!({"id": value})) {
            let url = url::Url::parse(&url).unwrap();
            let segments: Vec<_> = url.path_segments().unwrap().collect();
            proptest::prop_assert_eq!(segments.len(), 5);
            let decoded = percent_encoding::percent_decode_str(segments[4]).decode_utf8().unwrap().into_owned();
            proptest::prop_assert_eq!(decoded, value);
        }
    }
}
