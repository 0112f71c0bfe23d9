//! `docs/schema/settings.schema.json` is what `ptc config schema` prints: this test fails when the file is stale, and rewrites
//! it when the environment variable `UPDATE_DOCS` is set.

use std::path::Path;

use ptc_host::config::ProcessEnv;
use ptc_server::cli::config::schema;
use ptc_server::options::settings_file::SettingsFile;

#[test]
fn the_schema_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/schema/settings.schema.json");
    let schema = schema() + "\n";
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, &schema).expect("docs/ can be written");
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    let how = "UPDATE_DOCS=1 cargo test -p ptc-tests --test pages settings_schema:: rewrites it";
    assert!(schema == found, "docs/schema/settings.schema.json is stale; {how}");
}

/// What the schema takes for an option the reader takes, too, and the other way round.
#[test]
fn the_schema_and_the_reader_agree() {
    let schema: ptc_mcp::json::Value = ptc_mcp::json::from_str(&schema()).unwrap();
    let properties = schema["properties"].as_object().unwrap();
    let env = ProcessEnv::from_iter([("VARIABLE", "1")]);
    let reads = |text: &str| SettingsFile::parse(text, Path::new("ptc.toml"), &env).is_ok();
    let values = [("boolean", "true"), ("integer", "1"), ("string", "\"x\""), ("array", "[\"x\"]")];
    for (name, property) in properties {
        let own = property.pointer("/anyOf/0/type").and_then(|kind| kind.as_str());
        for (kind, value) in values {
            assert_eq!(reads(&format!("{name} = {value}")), own == Some(kind), "{name} = {value}");
        }
        assert!(reads(&format!("{name} = {{ env = \"VARIABLE\" }}")), "{name}");
    }
}
