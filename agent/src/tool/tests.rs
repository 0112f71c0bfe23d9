use super::{JsonMap, Layer, ToolContext, ToolSpec, fitted, invoke};
use crate::signature::Signature;
use ptc_base::json::{Value as Json, json};
use std::time::Duration;
use tokio::runtime::Handle;

async fn call(tool: ToolSpec, arguments: Json) -> Result<Json, String> {
    let context = ToolContext::detached(Layer::Native);
    let arguments = arguments.as_object().unwrap().clone();
    let arguments = fitted(&tool, arguments).map_err(|error| error.0)?;
    let made = invoke(&Handle::current(), &tool, arguments, context, Duration::from_secs(5)).await;
    made.map_err(|error| error.0)
}

async fn echo(arguments: JsonMap) -> Result<Json, String> {
    Ok(Json::Object(arguments))
}

#[tokio::test]
async fn arguments_fit_the_signature_or_the_handler_is_not_asked() {
    let tool =
        || ToolSpec::new(echo).signature(Signature::parse("(max-n :int, q :string?) -> :any").unwrap());
    assert_eq!(call(tool(), json!({"max_n": "5"})).await, Ok(json!({"max-n": 5})));
    assert_eq!(
        call(tool(), json!({"q": 1})).await,
        Err("invalid arguments: max-n: expected field, got nil; q: expected string, got int. \
             Expected (max-n :int, q :string?) -> :any"
            .into())
    );
}

#[tokio::test(start_paused = true)]
async fn panics_and_silence_are_failures() {
    let panics = ToolSpec::new(|_: JsonMap| async {
        if true {
            panic!("deliberate");
        }
        Ok::<_, String>(Json::Null)
    });
    assert_eq!(call(panics, json!({})).await, Err("the tool panicked: deliberate".into()));
    let silent = ToolSpec::new(|_: JsonMap| std::future::pending::<Result<Json, String>>());
    assert_eq!(call(silent, json!({})).await, Err("the tool did not answer within 5000 ms".into()));
}

mod typed {
    use super::*;
    use ptc_base::sync::Mutex;
    use schemars::JsonSchema;
    use serde::{Deserialize, Serialize};

    #[derive(Deserialize, JsonSchema)]
    struct Search {
        /// Words to look for.
        query: String,
        #[serde(default)]
        limit: u8,
        level: Option<Level>,
    }

    #[derive(Debug, Clone, Copy, PartialEq, Deserialize, Serialize, JsonSchema)]
    #[serde(rename_all = "kebab-case")]
    enum Level {
        VeryLow,
        High,
    }

    #[derive(Serialize, JsonSchema)]
    struct Hit {
        text: String,
        level: Option<Level>,
    }

    struct Seen(Mutex<Vec<String>>);

    async fn search(search: Search, context: ToolContext) -> Result<Vec<Hit>, std::num::ParseIntError> {
        if let Some(seen) = context.get::<Seen>() {
            seen.0.lock().push(search.query.clone());
        }
        let n: usize = search.query.parse()?;
        Ok((0..n.min(search.limit.into()))
            .map(|at| Hit { text: at.to_string(), level: search.level })
            .collect())
    }

    #[tokio::test]
    async fn handlers_take_and_give_rust_types() {
        let tool = || ToolSpec::typed("search", search);
        let arguments = json!({"query": "5", "limit": "2", "level": "very-low"});
        let hits = json!([{"text": "0", "level": "very-low"}, {"text": "1", "level": "very-low"}]);
        assert_eq!(call(tool(), arguments).await, Ok(hits));
        // Null stands for absence, as strict providers send it.
        assert_eq!(call(tool(), json!({"query": "5", "limit": null, "level": null})).await, Ok(json!([])));
        assert_eq!(call(tool(), json!({"query": "x"})).await, Err("invalid digit found in string".into()));
        assert_eq!(
            call(tool(), json!({"query": "5", "limit": 300, "level": "low"})).await,
            Err("invalid arguments: limit: expected at most 255, got 300; limit: expected uint8 (0 to 255), got 300; \
                 level: expected one of [\"very-low\", \"high\"]?, got \"low\". Expected (level one of [\"very-low\", \
                 \"high\"]?, limit :int? (minimum 0, maximum 255), query :string) -> :any"
                .into())
        );
    }

    #[tokio::test]
    async fn handlers_get_the_hosts_values() {
        let seen = Seen(Mutex::new(Vec::new()));
        let context = ToolContext::detached(Layer::Native).with(std::sync::Arc::new(seen));
        let shared = context.get::<std::sync::Arc<Seen>>().unwrap().clone();
        let handler = |search: Search, context: ToolContext| async move {
            let seen = context.get::<std::sync::Arc<Seen>>().ok_or("no list")?;
            seen.0.lock().push(search.query);
            Ok::<_, &str>(Level::High)
        };
        let tool = ToolSpec::typed("note", handler);
        let arguments = json!({"query": "q"}).as_object().unwrap().clone();
        let made = invoke(&Handle::current(), &tool, arguments, context, Duration::from_secs(5)).await;
        assert_eq!(made, Ok(json!("high")));
        assert_eq!(*shared.0.lock(), ["q"]);
        assert_eq!(call(tool, json!({"query": "q"})).await, Err("no list".into()));
    }

    #[test]
    fn models_are_told_the_types() {
        let tool = ToolSpec::typed("search", search).returning::<Vec<Hit>>();
        assert_eq!(tool.parameters_schema()["properties"]["query"]["description"], "Words to look for.");
        assert_eq!(
            tool.shown_signature().unwrap(),
            "(level one of [\"very-low\", \"high\"]?, limit :int? (minimum 0, maximum 255), query :string) -> \
             [{level one of [\"very-low\", \"high\"]?, text :string}]"
        );
    }
}
