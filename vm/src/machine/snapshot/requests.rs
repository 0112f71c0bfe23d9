//! Requests of calls that have not been sent, as a host keeps them beside a snapshot (waiting.md 2.4).
//!
//! A machine does not keep its requests: the host has taken them. So the host writes them, into its addition to the snapshot.

use super::RestoreError;
use crate::graph::{WireReader, WireWriter};
use crate::json;
use crate::machine::{
    ArgumentsError, Feature, FeatureRequest, HostRequest, MOST_SLEEP_MS, ToolArguments, UpstreamCall,
};
use crate::value::Value;

/// The forms of discovery that ask the host.
const FORMS: [&str; 5] = ["apropos", "dir", "doc", "meta", "tool/servers"];

const DAMAGE: RestoreError = RestoreError::Invalid("pending call");

impl HostRequest {
    /// Writes it.
    pub fn write(&self, to: &mut WireWriter) {
        match self {
            HostRequest::Tool { name, arguments } => {
                to.byte(0);
                to.text(name);
                to.bytes(arguments);
            }
            HostRequest::Upstream(call) => call.write(to),
            HostRequest::Discovery { form, arguments, shown } => {
                to.byte(2);
                to.text(form);
                to.bytes(arguments);
                to.count(shown.len());
                shown.iter().for_each(|shown| to.text(shown));
            }
            HostRequest::Feature(request) => {
                to.byte(3);
                to.text(request.feature.form());
                to.text(&request.server);
                to.text(&request.subject);
                to.bytes(&request.arguments);
                to.byte(u8::from(request.argument.is_some()));
                if let Some((name, value)) = &request.argument {
                    to.text(name);
                    to.text(value);
                }
            }
            HostRequest::Ask { message, schema } => {
                to.byte(4);
                to.text(message);
                to.byte(u8::from(schema.is_some()));
                if let Some(schema) = schema {
                    to.bytes(schema);
                }
            }
            HostRequest::Sleep { millis } => {
                to.byte(5);
                to.unsigned(u64::from(*millis));
            }
        }
    }

    /// Reads the output of [`write`](HostRequest::write), which is untrusted: JSON is checked to be JSON of its kind. The host
    /// checks the rest as it checks a program's request.
    ///
    /// # Errors
    /// The bytes are none of a request, or the account that is installed is at its limits.
    pub fn read(from: &mut WireReader<'_>) -> Result<HostRequest, RestoreError> {
        Ok(match from.byte()? {
            0 => HostRequest::Tool { name: from.text()?.to_owned(), arguments: object(from.bytes()?)? },
            1 => {
                let (server, tool) = (read_name(from)?, read_name(from)?);
                let arguments = match from.byte()? {
                    0 => Ok(read_arguments(from)?),
                    1 => Err(ArgumentsError::NotAMap(from.text()?.to_owned())),
                    2 => Err(ArgumentsError::NotEncodable(from.text()?.to_owned())),
                    3 => Err(ArgumentsError::TooLong { bytes: size(from)?, most: size(from)? }),
                    _ => return Err(DAMAGE),
                };
                let by_pages = from.flag()?;
                HostRequest::Upstream(UpstreamCall { server, tool, arguments, by_pages })
            }
            2 => {
                let form = from.text()?;
                let form = FORMS.into_iter().find(|known| *known == form).ok_or(DAMAGE)?;
                let arguments = from.bytes()?;
                if !matches!(json::parse(arguments)?, Some(Value::Vector(_))) {
                    return Err(DAMAGE);
                }
                let mut shown = Vec::new();
                for _ in 0..from.count()? {
                    shown.push(from.text()?.to_owned());
                }
                HostRequest::Discovery { form, arguments: arguments.to_vec(), shown }
            }
            3 => {
                let form = from.text()?;
                let feature = Feature::ALL.into_iter().find(|known| known.form() == form).ok_or(DAMAGE)?;
                let (server, subject) = (from.text()?.to_owned(), from.text()?.to_owned());
                let arguments = object(from.bytes()?)?;
                let argument = if from.flag()? {
                    Some((from.text()?.to_owned(), from.text()?.to_owned()))
                } else {
                    None
                };
                HostRequest::Feature(FeatureRequest { feature, server, subject, arguments, argument })
            }
            4 => {
                let message = from.text()?.to_owned();
                let schema = if from.flag()? { Some(object(from.bytes()?)?) } else { None };
                HostRequest::Ask { message, schema }
            }
            5 => {
                let millis = from.unsigned_32()?;
                if millis > MOST_SLEEP_MS {
                    return Err(DAMAGE);
                }
                HostRequest::Sleep { millis }
            }
            _ => return Err(DAMAGE),
        })
    }
}

/// A name, or the literal in its place.
impl UpstreamCall {
    /// Writes it as the request that it is.
    pub fn write(&self, to: &mut WireWriter) {
        let UpstreamCall { server, tool, arguments, by_pages } = self;
        to.byte(1);
        write_name(server, to);
        write_name(tool, to);
        match arguments {
            Ok(arguments) => {
                to.byte(0);
                to.bytes(&arguments.json);
                to.count(arguments.hyphenated.len());
                for range in &arguments.hyphenated {
                    to.count(range.start);
                    to.count(range.end);
                }
            }
            Err(ArgumentsError::NotAMap(shown)) => {
                to.byte(1);
                to.text(shown);
            }
            Err(ArgumentsError::NotEncodable(why)) => {
                to.byte(2);
                to.text(why);
            }
            Err(ArgumentsError::TooLong { bytes, most }) => {
                to.byte(3);
                to.count(*bytes);
                to.count(*most);
            }
        }
        to.byte(u8::from(*by_pages));
    }
}

fn write_name(name: &Result<String, String>, to: &mut WireWriter) {
    let (Ok(text) | Err(text)) = name;
    to.byte(u8::from(name.is_ok()));
    to.text(text);
}

fn read_name(from: &mut WireReader<'_>) -> Result<Result<String, String>, RestoreError> {
    let is_name = from.flag()?;
    let text = from.text()?.to_owned();
    Ok(if is_name { Ok(text) } else { Err(text) })
}

/// A number of bytes that are not here.
fn size(from: &mut WireReader<'_>) -> Result<usize, RestoreError> {
    usize::try_from(from.unsigned()?).map_err(|_| DAMAGE)
}

/// One JSON object.
fn object(json: &[u8]) -> Result<Vec<u8>, RestoreError> {
    match json::parse(json)? {
        Some(Value::Map(_)) => Ok(json.to_vec()),
        _ => Err(DAMAGE),
    }
}

fn read_arguments(from: &mut WireReader<'_>) -> Result<ToolArguments, RestoreError> {
    let json = object(from.bytes()?)?;
    let mut hyphenated = Vec::new();
    let mut before = 0;
    for _ in 0..from.count()? {
        let (start, end) = (from.index(json.len(), "pending call")?, from.index(json.len(), "pending call")?);
        // A name between its quotes, behind the one before it.
        let is_name = before < start
            && start < end
            && json[start - 1] == b'"'
            && json[end] == b'"'
            && !json[start..end].contains(&b'"');
        if !is_name {
            return Err(DAMAGE);
        }
        before = end;
        hyphenated.push(start..end);
    }
    Ok(ToolArguments { json, hyphenated })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn requests() -> Vec<HostRequest> {
        let upstream = |server, tool, arguments: Result<ToolArguments, ArgumentsError>| {
            let by_pages = arguments.is_ok();
            HostRequest::Upstream(UpstreamCall { server, tool, arguments, by_pages })
        };
        let arguments =
            ToolArguments { json: br#"{"a-b":{"c-d":1},"e":"\"x"}"#.to_vec(), hyphenated: vec![2..5, 9..12] };
        vec![
            HostRequest::Tool { name: "echo".to_owned(), arguments: b"{}".to_vec() },
            upstream(Ok("s".to_owned()), Ok("t".to_owned()), Ok(arguments)),
            upstream(
                Err("nil".to_owned()),
                Err("5".to_owned()),
                Err(ArgumentsError::NotAMap("[]".to_owned())),
            ),
            upstream(
                Ok("s".to_owned()),
                Ok("t".to_owned()),
                Err(ArgumentsError::NotEncodable("a function".to_owned())),
            ),
            upstream(
                Ok("s".to_owned()),
                Ok("t".to_owned()),
                Err(ArgumentsError::TooLong { bytes: 5_000_000, most: 4 << 20 }),
            ),
            HostRequest::Discovery {
                form: "doc",
                arguments: br#"["s/t"]"#.to_vec(),
                shown: vec!["s/t".to_owned()],
            },
            HostRequest::Feature(FeatureRequest {
                feature: Feature::ResourceComplete,
                server: "s".to_owned(),
                subject: "file:///{a}".to_owned(),
                arguments: b"{}".to_vec(),
                argument: Some(("a".to_owned(), "b".to_owned())),
            }),
            HostRequest::Ask { message: "Sure?".to_owned(), schema: None },
            HostRequest::Sleep { millis: 10_000 },
            HostRequest::Ask {
                message: "Which?".to_owned(),
                schema: Some(br#"{"type":"object","properties":{}}"#.to_vec()),
            },
        ]
    }

    fn written(request: &HostRequest) -> Vec<u8> {
        let mut to = WireWriter::new();
        request.write(&mut to);
        to.into_bytes()
    }

    #[test]
    fn requests_come_back() {
        for request in requests() {
            let bytes = written(&request);
            let mut from = WireReader::new(&bytes);
            let read = HostRequest::read(&mut from).expect("it was written");
            assert_eq!((format!("{read:?}"), from.left()), (format!("{request:?}"), 0));
        }
    }

    #[test]
    fn damaged_requests_are_refused_or_are_requests() {
        for request in requests() {
            let bytes = written(&request);
            for len in 0..bytes.len() {
                assert!(HostRequest::read(&mut WireReader::new(&bytes[..len])).is_err(), "{request:?}");
            }
            for at in 0..bytes.len() {
                for value in 0..=u8::MAX {
                    let mut damaged = bytes.clone();
                    damaged[at] = value;
                    let Ok(HostRequest::Upstream(UpstreamCall { arguments: Ok(read), .. })) =
                        HostRequest::read(&mut WireReader::new(&damaged))
                    else {
                        continue;
                    };
                    let text = std::str::from_utf8(&read.json).expect("JSON is text");
                    assert!(read.hyphenated.iter().all(|range| text.get(range.clone()).is_some()), "{text}");
                }
            }
        }
    }

    #[test]
    fn every_form_of_discovery_and_every_feature_is_known() {
        for form in FORMS {
            let request = HostRequest::Discovery { form, arguments: b"[]".to_vec(), shown: Vec::new() };
            assert!(HostRequest::read(&mut WireReader::new(&written(&request))).is_ok(), "{form}");
        }
        assert_eq!(Feature::PromptComplete as usize + 1, Feature::ALL.len(), "the last one is known");
    }
}
