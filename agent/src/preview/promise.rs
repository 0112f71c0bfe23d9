//! Previews of an earlier run, whose results no longer exist.

use ptc_base::json::Value as Json;

/// Takes back the promise of a preview.
#[expect(clippy::disallowed_methods, reason = "entry point: forget()")]
pub(crate) fn forget(content: &mut String) {
    if !content.contains("full_result_cached") {
        return;
    }
    let Ok(Json::Object(mut body)) = serde_json::from_str::<Json>(content) else { return };
    if body.get("full_result_cached") == Some(&Json::Bool(true)) {
        body.insert("full_result_cached".into(), false.into());
        body.shift_remove("cache_hint");
        *content = Json::Object(body).to_string();
    }
}

/// Takes back the promise of a preview of an upstream's result, which lives as long as its run.
pub(crate) fn forget_upstream(content: &mut String) {
    if content.contains("and then call (:value (tool/call {:server ") {
        forget(content);
    }
}
