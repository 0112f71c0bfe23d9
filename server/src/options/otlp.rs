//! The export to an OpenTelemetry collector: our options, and the standard's variables.

use std::path::Path;
use std::time::Duration;

use http::{HeaderName, HeaderValue};
use ptc_host::config::ProcessEnv;
use ptc_host::credentials::Secret;
use ptc_host::ordinary_file;
use ptc_host::visible::visible_line;
use url::Url;

use super::values::Values;
use ptc_protocol::settings::{BootError, Otlp, Sampler};

/// Largest file of headers, in bytes.
const MAX_HEADERS_BYTES: u64 = 64 << 10;
/// Most attributes of the process.
const MAX_ATTRIBUTES: usize = 64;
/// Longest name or value of one of them, in bytes.
const MAX_ATTRIBUTE_BYTES: usize = 1024;

const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
/// The signals: what the variables call them, and the end of the URL.
const TRACES: Signal = Signal { name: "TRACES", path: "v1/traces" };
const METRICS: Signal = Signal { name: "METRICS", path: "v1/metrics" };

struct Signal {
    name: &'static str,
    path: &'static str,
}

/// Interprets the options; `None` if no collector is named, or the standard's variables switch it off.
///
/// # Errors
/// If an endpoint is no URL, or the file of headers cannot be used. Anything else that cannot be read in a standard variable
/// is told and not used, as the standard says.
pub(super) fn resolve(values: &mut Values<'_>, env: &ProcessEnv) -> Result<Option<Otlp>, BootError> {
    let set = |name: &str| env.text(name).map(str::trim).filter(|text| !text.is_empty());
    if set("OTEL_SDK_DISABLED").is_some_and(|text| text.eq_ignore_ascii_case("true")) {
        return Ok(None);
    }
    let named = values.text("otlp-endpoint").map(|text| (values.shown("otlp-endpoint"), text));
    let base = match named {
        Some((shown, text)) => Some(endpoint(&shown, &text)?),
        None => set(ENDPOINT).map(|text| endpoint(ENDPOINT, text)).transpose()?,
    };
    let is_ours = values.text("otlp-endpoint").is_some();
    let mut url = |signal: &Signal| -> Result<Option<Url>, BootError> {
        let exporter = format!("OTEL_{}_EXPORTER", signal.name);
        match set(&exporter) {
            None | Some("otlp") => {}
            Some("none") => return Ok(None),
            Some(other) => {
                values.warn(
                    "otlp_variable_unusable",
                    format!("{exporter} is {other:?}; ptc has otlp and none, and uses otlp"),
                );
            }
        }
        let own = format!("OTEL_EXPORTER_OTLP_{}_ENDPOINT", signal.name);
        match set(&own).filter(|_| !is_ours) {
            Some(text) => endpoint(&own, text).map(Some),
            None => Ok(base.as_ref().map(|base| below(base, signal.path))),
        }
    };
    let (traces, metrics) = (url(&TRACES)?, url(&METRICS)?);
    if traces.is_none() && metrics.is_none() {
        return Ok(None);
    }
    if let Some(protocol) = set("OTEL_EXPORTER_OTLP_PROTOCOL").filter(|name| *name != "http/protobuf") {
        let text = format!(
            "OTEL_EXPORTER_OTLP_PROTOCOL is {protocol:?}; ptc sends http/protobuf: name the collector's port for HTTP, often 4318"
        );
        values.warn("otlp_variable_unusable", text);
    }
    let headers = match values.path("otlp-headers-file") {
        Some(path) => headers_of_file(&path)?,
        None => set("OTEL_EXPORTER_OTLP_HEADERS").map_or_else(Vec::new, |text| headers_of(text, values)),
    };
    let in_clear = |url: &Url| url.scheme() == "http" && !is_loopback(url);
    if !headers.is_empty() && [&traces, &metrics].into_iter().flatten().any(in_clear) {
        let text = "the headers for the collector travel over plain http; name an https endpoint";
        values.warn("otlp_headers_in_clear", text.to_owned());
    }
    let mut number = |name: &str, default: u64| match set(name).map(str::parse::<u64>) {
        None => default,
        Some(Ok(number)) if number > 0 => number,
        Some(_) => {
            values.warn(
                "otlp_variable_unusable",
                format!("{name} must be a positive integer; {default} is used"),
            );
            default
        }
    };
    let size = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let queue = size(number("OTEL_BSP_MAX_QUEUE_SIZE", 2048));
    let batch = size(number("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", 512)).min(queue);
    let timeout = Duration::from_millis(number("OTEL_EXPORTER_OTLP_TIMEOUT", 10_000));
    let delay = Duration::from_millis(number("OTEL_BSP_SCHEDULE_DELAY", 5000));
    let interval = Duration::from_millis(number("OTEL_METRIC_EXPORT_INTERVAL", 60_000));
    let sampler = sampler(values, set("OTEL_TRACES_SAMPLER"), set("OTEL_TRACES_SAMPLER_ARG"));
    let resource = resource(values, set("OTEL_SERVICE_NAME"), set("OTEL_RESOURCE_ATTRIBUTES"));
    let certificate = set("OTEL_EXPORTER_OTLP_CERTIFICATE").map(Into::into);
    Ok(Some(Otlp {
        traces,
        metrics,
        headers,
        certificate,
        timeout,
        resource,
        sampler,
        queue,
        batch,
        delay,
        interval,
    }))
}

/// A URL, which is not shown where it is wrong: it may contain a key.
fn endpoint(shown: &str, text: &str) -> Result<Url, BootError> {
    let fits = |url: &Url| {
        let is_plain = url.username().is_empty() && url.password().is_none() && url.fragment().is_none();
        is_plain && matches!(url.scheme(), "http" | "https") && url.has_host()
    };
    Url::parse(text).ok().filter(fits).ok_or_else(|| {
        BootError::new(format!(
            "{shown} must be an http or https URL without user name, password and fragment, such as http://localhost:4318"
        ))
    })
}

/// The URL of a signal below that of the collector.
fn below(base: &Url, path: &str) -> Url {
    let mut url = base.clone();
    url.set_path(&format!("{}/{path}", base.path().trim_end_matches('/')));
    url
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(url::Host::Domain(name)) => name.eq_ignore_ascii_case("localhost"),
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// The headers of a file: `name: value`, one a line.
#[expect(clippy::disallowed_methods, reason = "entry point: headers_of_file()")]
fn headers_of_file(path: &Path) -> Result<Vec<(String, Secret)>, BootError> {
    let shown = |detail: &dyn std::fmt::Display| {
        BootError::new(format!("--otlp-headers-file {}: {detail}", path.display()))
    };
    let text = ordinary_file::read_text(path, MAX_HEADERS_BYTES).map_err(|fault| shown(&fault))?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(at, line)| {
            let header = line.split_once(':').and_then(|(name, value)| header(name, value.trim()));
            header.ok_or_else(|| shown(&format!("line {} must be `name: value`", at + 1)))
        })
        .collect()
}

/// The headers of the standard's variable: `name=value,…` with percent-encoding. One that is wrong is told and left out.
fn headers_of(text: &str, values: &mut Values<'_>) -> Vec<(String, Secret)> {
    let mut headers = Vec::new();
    for (at, member) in members(text).enumerate() {
        match member.and_then(|(name, value)| header(&name, &value)) {
            Some(header) => headers.push(header),
            None => {
                let text = format!(
                    "header {} of OTEL_EXPORTER_OTLP_HEADERS is no `name=value`; it is left out",
                    at + 1
                );
                values.warn("otlp_variable_unusable", text);
            }
        }
    }
    headers
}

fn header(name: &str, value: &str) -> Option<(String, Secret)> {
    HeaderValue::from_str(value).ok()?;
    let name = HeaderName::try_from(name.trim()).ok()?;
    (!value.is_empty()).then(|| (name.as_str().to_owned(), Secret::new(value)))
}

/// The members of a list of the standard; `None` for what is none.
fn members(text: &str) -> impl Iterator<Item = Option<(String, String)>> {
    let members = text.split(',').map(str::trim).filter(|member| !member.is_empty());
    members.map(|member| {
        let (name, value) = member.split_once('=')?;
        let decoded = |text: &str| {
            let text = percent_encoding::percent_decode_str(text.trim());
            text.decode_utf8().ok().map(std::borrow::Cow::into_owned)
        };
        Some((decoded(name).filter(|name| !name.is_empty())?, decoded(value)?))
    })
}

/// The attributes of this process.
fn resource(
    values: &mut Values<'_>,
    service: Option<&str>,
    attributes: Option<&str>,
) -> Vec<(String, String)> {
    let mut resource = Vec::new();
    let fits = |text: &str| text.len() <= MAX_ATTRIBUTE_BYTES;
    for member in attributes.into_iter().flat_map(members) {
        match member.filter(|(name, value)| fits(name) && fits(value)) {
            Some(member) if resource.len() < MAX_ATTRIBUTES => resource.push(member),
            _ => {
                let text = "OTEL_RESOURCE_ATTRIBUTES has a member that is no `name=value`, is longer than 1024 bytes, or \
                            comes after the 64th; it is left out";
                values.warn("otlp_variable_unusable", text.to_owned());
            }
        }
    }
    if let Some(service) = service.filter(|name| fits(name)) {
        resource.retain(|(name, _)| name != "service.name");
        resource.push(("service.name".to_owned(), service.to_owned()));
    }
    resource
}

/// The sampler of the standard's variables.
fn sampler(values: &mut Values<'_>, name: Option<&str>, argument: Option<&str>) -> Sampler {
    let Some(name) = name else { return Sampler::default() };
    let (asks_client, rest) = match name.strip_prefix("parentbased_") {
        Some(rest) => (true, rest),
        None => (false, name),
    };
    let ratio = match rest {
        "always_on" => Some(1.0),
        "always_off" => Some(0.0),
        "traceidratio" => {
            let given = argument.map(|text| text.parse().ok().filter(|ratio| (0.0..=1.0).contains(ratio)));
            if given == Some(None) {
                let text = "OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1; 1 is used";
                values.warn("otlp_variable_unusable", text.to_owned());
            }
            Some(given.flatten().unwrap_or(1.0))
        }
        _ => None,
    };
    match ratio {
        Some(ratio) => Sampler { asks_client, ratio },
        None => {
            let name = visible_line(name);
            let text = format!(
                "OTEL_TRACES_SAMPLER is {name:?}, which ptc does not have; parentbased_always_on is used"
            );
            values.warn("otlp_variable_unusable", text);
            Sampler::default()
        }
    }
}
