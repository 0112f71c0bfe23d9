//! JSON of any bytes.

/// JSON that parses is written and parsed again to the same text, and others read the same in it.
pub fn json(data: &[u8]) {
    let Ok(Some(value)) = ptc_vm::json::parse(data) else { return };
    let mut once = Vec::new();
    if ptc_vm::json::write(&value, &mut once).is_err() {
        return;
    }
    let again = ptc_vm::json::parse(&once).expect("no limits").expect("what we write is JSON");
    let mut twice = Vec::new();
    ptc_vm::json::write(&again, &mut twice).expect("as before");
    assert_eq!(once, twice);
    let foreign: Result<serde_json::Value, _> = serde_json::from_slice(data);
    assert!(foreign.is_ok(), "we read what serde_json refuses: {foreign:?}");
}
