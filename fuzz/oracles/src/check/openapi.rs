//! OpenAPI documents, the tools made of them, and the URLs of calls.

use crate::generate::{Choices, documents};
use ptc_host::config::{LoadOptions, OpenApiConfig, ProcessEnv, Transport, UpstreamsConfig};
use ptc_host::openapi::{Document, compile, decode};
use ptc_mcp::json::json;
use std::sync::LazyLock;
use url::Url;

/// Entries over several base URLs.
fn configs() -> &'static [OpenApiConfig] {
    static CONFIGS: LazyLock<Vec<OpenApiConfig>> = LazyLock::new(|| {
        ["https://h.example/proxy", "https://h.example", "http://127.0.0.1:8080/a%20b/"]
            .into_iter()
            .map(entry)
            .collect()
    });
    &CONFIGS
}

fn entry(base_url: &str) -> OpenApiConfig {
    let file = json!({"upstreams": {"api": {
        "transport": "openapi", "base_url": base_url, "schema_file": "s.json", "include_operations": ["op"],
        "allow_insecure_http": true,
    }}});
    let options = LoadOptions { env: &ProcessEnv::default(), base_dir: None, own_exe: None };
    let config = UpstreamsConfig::from_json(&file.to_string(), &options).expect("a good file");
    match config.upstreams.into_iter().next().expect("one entry").transport {
        Transport::OpenApi(config) => config,
        other => panic!("{other:?}"),
    }
}

/// Any document gives tools or one clear fault, and whatever document and arguments say, the URL of a call keeps the
/// origin and the path prefix of `base_url` (ruling 35).
pub fn openapi(data: &[u8]) {
    let mut choices = Choices::new(data);
    let config = choices.one(configs());
    let status = [200, 204, 301, 404, 500, 99][choices.below(6)];
    let (document, arguments) = if data.contains(&b'{') {
        let bytes = choices.all();
        let _ = decode(status, bytes.to_vec().into());
        (Document::decode(bytes), json!({"id": "..", "a": "/", "q": 1}))
    } else {
        let document = documents::openapi(&mut choices);
        (Document::decode(document.to_string().as_bytes()), documents::arguments(&mut choices))
    };
    let operations = match document.and_then(|document| compile(&document, config)) {
        Ok(operations) => operations,
        Err(fault) => return assert!(!fault.message.is_empty()),
    };
    for operation in operations {
        assert_eq!(operation.tool["name"], operation.name.as_str());
        match operation.url(&config.base_url, arguments.to_string().as_bytes()) {
            Ok(url) => keeps_base(&url, &config.base_url),
            Err(fault) => assert!(!fault.message.is_empty()),
        }
    }
}

fn keeps_base(url: &Url, base: &Url) {
    assert_eq!(url.origin(), base.origin());
    let prefix = base.path().trim_end_matches('/');
    let rest = url.path().strip_prefix(prefix).unwrap_or_else(|| panic!("{url} leaves {base}"));
    assert!(rest.starts_with('/'), "{url} leaves {base}");
    let dots =
        |segment: &str| matches!(segment.to_ascii_lowercase().replace("%2e", ".").as_str(), "." | "..");
    assert!(!url.path().split('/').any(dots), "{url} has a dot segment");
    assert!((url.username(), url.password(), url.fragment()) == ("", None, None), "{url}");
}
