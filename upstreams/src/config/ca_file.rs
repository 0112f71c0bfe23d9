//! The key `ca_file`: certificates that are trusted besides the system's.

use super::home::refuse_home;
use std::path::Path;

use url::Url;

use super::fields::Fields;
use ptc_base::config_error::ConfigError;
use ptc_base::environment::ProcessEnv;
use ptc_http::Certificates;

/// Reads the file that the entry names, if it names one. A relative path starts at `base_dir`. `urls` are where requests of
/// the entry go.
pub(super) fn parse<'u>(
    fields: &Fields<'_>,
    env: &ProcessEnv,
    base_dir: Option<&Path>,
    mut urls: impl Iterator<Item = &'u Url>,
) -> Result<Option<Certificates>, ConfigError> {
    let Some(text) = fields.string("ca_file")?.filter(|text| !text.is_empty()) else { return Ok(None) };
    refuse_home(fields.upstream, "ca_file", text, env)?;
    if urls.all(|url| url.scheme() != "https") {
        return Err(fields.error("sets ca_file, but without https there is no certificate; remove the key"));
    }
    let path = base_dir.map_or_else(|| text.into(), |dir| dir.join(text));
    Certificates::read(&path).map(Some).map_err(|error| fields.error(error))
}
