//! The upstreams file.

use crate::generate::Choices;
use crate::generate::documents::{self, SECRETS};
use ptc_host::config::{ConfigPart, LoadOptions, ProcessEnv, UpstreamsConfig};
use ptc_host::credentials::Redactor;

/// Any JSON is a configuration or an error that says where, and neither errors nor warnings show a secret.
pub fn config(data: &[u8]) {
    let env: ProcessEnv = SECRETS.into_iter().collect();
    let options = LoadOptions { env: &env, base_dir: None, own_exe: None };
    let value = match std::str::from_utf8(data).ok().filter(|text| text.starts_with('{')) {
        Some(text) => {
            let _ = UpstreamsConfig::from_json(text, &options).map(read);
            return;
        }
        None => documents::upstreams(&mut Choices::new(data)),
    };
    match UpstreamsConfig::from_json(&value.to_string(), &options) {
        Ok(config) => read(config),
        Err(error) => {
            let text = error.to_string();
            hides_secrets(&text);
            let says_where = match &error.part {
                ConfigPart::File => text.contains("upstreams") || text.contains("raw_envelope"),
                ConfigPart::Credentials => text.contains("credential"),
                ConfigPart::Upstream(name) => {
                    text.contains(name.as_str()) || text.contains(&format!("{name:?}"))
                }
                ConfigPart::EnvFile | ConfigPart::Lock | ConfigPart::LockOfAnother => false,
            };
            assert!(says_where, "{:?}: {text}", error.part);
        }
    }
}

fn read(config: UpstreamsConfig) {
    for warning in &config.warnings {
        assert!(!warning.message.is_empty());
        hides_secrets(&warning.message);
    }
    hides_secrets(&format!("{config:?}"));
    let redactor = Redactor::default();
    config.register_secrets(&redactor).unwrap();
    for upstream in &config.upstreams {
        assert_eq!(config.upstream(&upstream.name).map(|found| &found.name), Some(&upstream.name));
        if let Some(auth) = upstream.transport.auth() {
            // Loading checked that every emitter can make its header.
            let headers = auth.headers(&config.credentials).unwrap_or_else(|e| panic!("{e}"));
            hides_secrets(&format!(
                "{:?}",
                headers.iter().filter(|(_, v)| v.is_sensitive()).collect::<Vec<_>>()
            ));
        }
    }
}

fn hides_secrets(text: &str) {
    for secret in SECRETS.iter().flat_map(|(_, secret)| secret.split(['\n', ':'])) {
        assert!(!text.contains(secret) || secret == "someone", "shows {secret}: {text}");
    }
}
