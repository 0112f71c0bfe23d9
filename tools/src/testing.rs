//! Replies against the schemas that their tools advertise.

use std::collections::BTreeMap;
use std::sync::Arc;

use jsonschema::Validator;
use ptc_host::sync::Mutex;
use ptc_protocol::tool::{Definition, ToolReply};

/// Validates a reply against the schema that its tool advertises (ruling 42: errors are no exception).
pub(crate) fn assert_fits(definition: &Definition, reply: &ToolReply) {
    let (Some(schema), Some(structured)) = (&definition.output_schema, &reply.structured) else {
        assert!(
            definition.output_schema.is_none(),
            "{} has a schema and sent nothing for it",
            definition.name
        );
        return;
    };
    let validator = validator_of(schema);
    let structured: serde_json::Value = serde_json::from_str(structured).expect("JSON");
    let faults: Vec<_> = validator.iter_errors(&structured).map(|fault| fault.to_string()).collect();
    assert!(faults.is_empty(), "{}: {structured} does not fit: {faults:?}", definition.name);
}

/// A validator of `schema`, which is compiled once for all replies.
fn validator_of(schema: &str) -> Arc<Validator> {
    static VALIDATORS: Mutex<BTreeMap<String, Arc<Validator>>> = Mutex::new(BTreeMap::new());
    let mut validators = VALIDATORS.lock();
    if let Some(validator) = validators.get(schema) {
        return validator.clone();
    }
    let parsed: serde_json::Value = serde_json::from_str(schema).expect("JSON");
    let validator = Arc::new(jsonschema::validator_for(&parsed).expect("a schema"));
    validators.insert(schema.to_owned(), validator.clone());
    validator
}
