//! As much of HTTP/1.1 as tells where a request and its answer end, and whether a request may be sent twice.

use serde_json::Value;

/// Bytes of a request, as they came.
#[derive(Default)]
pub(super) struct Request {
    pub(super) bytes: Vec<u8>,
}

/// Where the head ends, and what the lines of it say.
fn head(bytes: &[u8]) -> Option<(usize, &str)> {
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n")?;
    Some((end + 4, std::str::from_utf8(&bytes[..end]).ok()?))
}

fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.lines().skip(1).find_map(|line| {
        let (found, value) = line.split_once(':')?;
        found.eq_ignore_ascii_case(name).then(|| value.trim())
    })
}

/// Bytes of a body whose head declares them; `None` if it does not.
fn declared(head: &str) -> Option<usize> {
    header(head, "content-length")?.parse().ok()
}

impl Request {
    /// How many bytes the whole request has, if they are there.
    pub(super) fn whole(&self) -> Option<usize> {
        let (at, head) = head(&self.bytes)?;
        if header(head, "transfer-encoding").is_some() {
            return None;
        }
        let whole = at.checked_add(declared(head).unwrap_or(0))?;
        (self.bytes.len() >= whole).then_some(whole)
    }

    /// Whether a client that had no answer may send it again: it changes nothing that lasts, or nothing more when it comes
    /// twice. That of a tool's call is known here by its tool; a program that calls no tools of upstreams has no effect.
    pub(super) fn may_come_twice(&self) -> bool {
        let Some((at, head)) = head(&self.bytes) else { return true };
        let mut words = head.split(' ');
        match (words.next(), words.next().unwrap_or_default()) {
            // An answer to an approval, or to a question on the console.
            (Some("POST"), target) if target.starts_with("/webhook/") || target.starts_with("/console/") => {
                return false;
            }
            (Some("POST"), _) => {}
            (Some("DELETE"), _) => return false,
            // The code of a sign-in is good once.
            (_, target) => return !target.starts_with("/oauth/callback"),
        }
        // What is no message is refused each time.
        let Ok(message) = serde_json::from_slice::<Value>(&self.bytes[at..]) else { return true };
        let all = message.as_array().map_or(std::slice::from_ref(&message), Vec::as_slice);
        all.iter().all(|message| {
            if message["method"] != "tools/call" {
                // Each `initialize` begins a conversation of its own, and nobody misses one that was not answered.
                return message["method"] != "exit" && message["method"] != "shutdown";
            }
            let params = &message["params"];
            // A state is good once: whoever used it and had no answer may be told just that.
            if !params["requestState"].is_null() {
                return false;
            }
            match params["name"].as_str() {
                Some("lisp_eval") => {
                    !params["arguments"]["program"].as_str().unwrap_or_default().contains("tool/")
                }
                Some("lisp_session_list" | "lisp_session_inspect" | "lisp_debug") => true,
                _ => false,
            }
        })
    }

    /// Whether its answer has no body, whatever its head says.
    pub(super) fn is_head(&self) -> bool {
        self.bytes.starts_with(b"HEAD ")
    }
}

/// Where an answer ends.
#[derive(Default)]
pub(super) struct Answer {
    /// What was not yet read of it.
    unread: Vec<u8>,
    body: Body,
}

#[derive(Default, PartialEq)]
enum Body {
    #[default]
    Head,
    Bytes(usize),
    Chunks,
    UntilTheEnd,
    Over,
}

impl Answer {
    /// Whether it is one of a declared length, or may be, and the rest of it is awaited.
    pub(super) fn is_awaited(&self) -> bool {
        match self.body {
            // In front of what the client still has to send an answer of another kind may have come.
            Body::Head => !self.unread.is_empty(),
            Body::Bytes(_) => true,
            _ => false,
        }
    }

    /// Reads what came; whether the answer is whole now.
    pub(super) fn read(&mut self, bytes: &[u8], is_head: bool) -> bool {
        self.unread.extend_from_slice(bytes);
        loop {
            match self.body {
                Body::Head => {
                    let Some((at, head)) = head(&self.unread) else { return false };
                    let status = head.split(' ').nth(1).unwrap_or_default();
                    self.body = match declared(head) {
                        _ if status.starts_with('1') => Body::Head,
                        _ if is_head || status == "204" || status == "304" => Body::Over,
                        Some(length) => Body::Bytes(length),
                        None if header(head, "transfer-encoding").is_some() => Body::Chunks,
                        None => Body::UntilTheEnd,
                    };
                    self.unread.drain(..at);
                }
                Body::Bytes(length) => {
                    if self.unread.len() < length {
                        return false;
                    }
                    self.body = Body::Over;
                }
                Body::Chunks => {
                    let Some(line) = self.unread.windows(2).position(|window| window == b"\r\n") else {
                        return false;
                    };
                    let size = std::str::from_utf8(&self.unread[..line]).unwrap_or_default();
                    let size = usize::from_str_radix(size.split(';').next().unwrap_or_default().trim(), 16);
                    let Ok(size) = size else {
                        self.body = Body::UntilTheEnd;
                        continue;
                    };
                    let end = line + 2 + size + 2;
                    if self.unread.len() < end {
                        return false;
                    }
                    self.unread.drain(..end);
                    if size == 0 {
                        self.body = Body::Over;
                    }
                }
                Body::UntilTheEnd => {
                    self.unread.clear();
                    return false;
                }
                Body::Over => return true,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_whole_with_its_last_byte() {
        let answers = [
            "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc",
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab\r\nc\r\n0\r\n\r\n",
            "HTTP/1.1 204 No Content\r\n\r\n",
        ];
        for text in answers {
            let mut answer = Answer::default();
            let (last, all) = text.as_bytes().split_last().unwrap();
            for byte in all {
                assert!(!answer.read(&[*byte], false), "{text}");
            }
            assert!(answer.read(&[*last], false), "{text}");
        }
        assert!(!Answer::default().read(b"HTTP/1.1 200 OK\r\n\r\nuntil it ends", false));
    }

    #[test]
    fn what_changes_something_is_not_sent_twice() {
        let post = |body: &str| Request {
            bytes: format!("POST /mcp HTTP/1.1\r\nContent-Length: {}\r\n\r\n{body}", body.len()).into_bytes(),
        };
        let call = |tool: &str, program: &str| {
            post(&format!(
                r#"{{"method":"tools/call","params":{{"name":"{tool}","arguments":{{"program":"{program}"}}}}}}"#
            ))
        };
        let without_body = |line: &str| Request {
            bytes: format!("{line} HTTP/1.1\r\nHost: localhost\r\n\r\n").into_bytes(),
        };
        let retry = r#"{"method":"tools/call","params":{"name":"lisp_eval","arguments":{"program":"1"},"requestState":"ptcs1.x"}}"#;
        for request in [
            call("lisp_eval", "(+ 1 2)"),
            call("lisp_session_list", ""),
            post("nonsense"),
            post("{}"),
            without_body("GET /oauth/start?upstream=notes"),
            without_body("POST /oauth/start?upstream=notes"),
        ] {
            assert!(request.whole().is_some() && request.may_come_twice());
        }
        for request in [
            call("lisp_eval", "(tool/call {})"),
            call("lisp_session_eval", "1"),
            call("other", ""),
            post(retry),
            without_body("GET /oauth/callback?state=x&code=y"),
            without_body("POST /webhook/answers/run_x/q1"),
            without_body("POST /console/api/runs/run_x/answers"),
        ] {
            assert!(request.whole().is_some() && !request.may_come_twice());
        }
        let half = Request { bytes: b"POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\n{".to_vec() };
        assert_eq!(half.whole(), None);
    }
}
