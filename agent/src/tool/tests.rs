use super::{JsonMap, Layer, ToolContext, ToolSpec, invoke};
use crate::signature::Signature;
use ptc_host::json::{Value as Json, json};
use std::time::Duration;
use tokio::runtime::Handle;

async fn call(tool: ToolSpec, arguments: Json) -> Result<Json, String> {
    let context = ToolContext::detached(Layer::Native);
    let arguments = arguments.as_object().unwrap().clone();
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
