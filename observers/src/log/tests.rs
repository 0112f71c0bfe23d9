use ptc_host::sync::Mutex;
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use ptc_host::credentials::{Redactor, Secret};
use ptc_mcp::json::{Value, json};
use tracing::field::Empty;

use super::*;

#[derive(Clone, Default)]
struct Captured(Arc<Mutex<Vec<u8>>>);

impl Write for Captured {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn lines(level: LogLevel, log: impl FnOnce()) -> Vec<Value> {
    lines_at(&CurrentLevel::new(level), log)
}

fn lines_at(level: &CurrentLevel, log: impl FnOnce()) -> Vec<Value> {
    let captured = Captured::default();
    let sink = Sink::new(captured.clone());
    let redactor = Redactor::new();
    redactor.register([&Secret::new("s3cret-s3cret")]).unwrap();
    tracing::subscriber::with_default(subscriber(level.clone(), redactor, sink.clone()), log);
    sink.flush(Duration::from_secs(10));
    let bytes = captured.0.lock().clone();
    String::from_utf8(bytes).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_line_has_the_documented_shape() {
    let lines = lines(LogLevel::Info, || {
        tracing::info!(event = "tools_call_start", request_id = %7, tool = "a\"b", n = 3, ok = true, gone = Empty);
        tracing::debug!(event = "not_shown");
        tracing::info!(event = "bare");
    });
    assert_eq!(lines.len(), 2);
    let ts = lines[0]["ts"].as_str().unwrap();
    assert_eq!((ts.len(), &ts[10..11], &ts[26..]), (27, "T", "Z"));
    assert_eq!(lines[0]["level"], "info");
    assert_eq!(lines[0]["event"], "tools_call_start");
    assert_eq!(lines[0]["request_id"], "7");
    assert_eq!(lines[0]["fields"], json!({"tool":"a\"b","n":3,"ok":true,"gone":null}));
    assert!(lines[1].get("fields").is_none() && lines[1].get("request_id").is_none());
}

#[test]
fn a_level_that_changes_holds_from_the_next_line_on() {
    let level = CurrentLevel::new(LogLevel::Info);
    let log = || tracing::debug!(event = "fine");
    let lines = lines_at(&level, || {
        log();
        level.set(LogLevel::Debug);
        log();
        level.set(LogLevel::Error);
        log();
        tracing::error!(event = "grave");
    });
    let events: Vec<&str> = lines.iter().filter_map(|line| line["event"].as_str()).collect();
    assert_eq!((events, level.get()), (vec!["fine", "grave"], LogLevel::Error));
}

#[test]
fn secrets_are_scrubbed_and_keys_left_alone() {
    let lines = lines(LogLevel::Debug, || {
        tracing::warn!(event = "odd", detail = "token s3cret-s3cret!", "a message with s3cret-s3cret");
    });
    assert_eq!(lines[0]["fields"]["detail"], "token [REDACTED]!");
    assert_eq!(lines[0]["fields"]["message"], "a message with [REDACTED]");
}

#[test]
fn a_reader_that_stands_still_does_not_stop_the_writer() {
    struct Stuck(std::sync::mpsc::Receiver<()>);
    impl Write for Stuck {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            let _ = self.0.recv();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let (go_on, stuck) = std::sync::mpsc::channel();
    let sink = Sink::new(Stuck(stuck));
    for _ in 0..100_000 {
        sink.write(&[b'x'; 100]);
    }
    drop(go_on);
    sink.flush(Duration::from_secs(10));
}

#[test]
fn lines_that_come_together_share_writes_and_keep_their_order() {
    #[derive(Clone, Default)]
    struct Counting(Captured, Arc<Mutex<usize>>);
    impl Write for Counting {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            *self.1.lock() += 1;
            self.0.write(bytes)
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let counting = Counting::default();
    let sink = Sink::new(counting.clone());
    let expected: String = (0..20_000).map(|n| format!("{n}\n")).collect();
    expected.split_inclusive('\n').for_each(|line| sink.write(line.as_bytes()));
    sink.flush(Duration::from_secs(10));
    assert_eq!(String::from_utf8(counting.0.0.lock().clone()).unwrap(), expected);
    assert!(*counting.1.lock() < 20_000);
}

#[test]
fn values_of_all_types_are_json() {
    let lines = lines(LogLevel::Info, || {
        let (none, wide) = (None::<&str>, u128::MAX);
        tracing::info!(event = "e", a = 1.5, b = %"s\"", c = -2_i64, none, wide, nan = f64::NAN, yes = true, d = ?['x']);
    });
    let wide = u128::MAX;
    let expected = format!(
        r#"{{"a":1.5,"b":"s\"","c":-2,"wide":{wide},"nan":null,"yes":true,"d":"['x']","none":null}}"#
    );
    assert_eq!(lines[0]["fields"].to_string(), expected);
}
