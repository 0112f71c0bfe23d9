//! Clients that end in the middle of what they say.

use std::io::Write;
use std::net::Shutdown;

use ptc_test_support::process::{Launch, call, descriptors, post};
use ptc_test_support::wait_until;

#[test]
fn half_a_frame_is_not_acted_on() {
    let whole = call("half", "(+ 1 2)").to_string();
    let middle_of_a_character = call("half", "\"ä\"").to_string();
    let cut = middle_of_a_character.find('ä').expect("it is there") + 1;
    for half in [
        &whole.as_bytes()[..1],
        &whole.as_bytes()[..40],
        whole.as_bytes(),
        &middle_of_a_character.as_bytes()[..cut],
    ] {
        let mut server = Launch::new(&[]).on_pipes();
        server.call(1, "(+ 1 2)");
        assert_eq!(server.answer(), (1.into(), "user=> 3".into()));
        server.send(half);
        server.hang_up();
        // Not even what would be a whole message but for its newline: whoever wrote it may have had more to say.
        assert_eq!(server.rest(), []);
        assert!(server.server.ended().success());
    }
}

#[test]
fn half_a_frame_behind_calls_does_not_cost_their_answers() {
    let mut server = Launch::new(&[]).on_pipes();
    let mut input = Vec::new();
    for id in 0..50 {
        writeln!(input, "{}", call(id, "(reduce + (range 10))")).unwrap();
    }
    input.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":50,\"meth");
    server.send(&input);
    server.hang_up();
    let mut answers = server.rest();
    answers.sort_by_key(|(id, _)| id.as_u64());
    let expected: Vec<_> = (0..50).map(|id| (id.into(), "user=> 45".to_owned())).collect();
    assert_eq!(answers, expected);
    assert!(server.server.ended().success());
}

#[test]
fn half_a_request_leaves_nothing_behind() {
    let server = Launch::new(&["--http-metrics"]).on_http();
    assert_eq!(server.eval("(+ 1 2)"), "user=> 3");
    let before = descriptors(server.server.pid());
    let whole = post("(+ 1 2)");
    for cut in [1, 20, whole.len() / 2, whole.len() - 1] {
        for how in [Shutdown::Write, Shutdown::Both] {
            let mut stream = server.connect();
            stream.write_all(&whole[..cut]).unwrap();
            stream.shutdown(how).unwrap();
        }
    }
    // Connections are taken on in order: by now all of them have been.
    assert_eq!(server.eval("(+ 1 2)"), "user=> 3");
    wait_until("their descriptors are closed", || descriptors(server.server.pid()) <= before);
    wait_until("no piece of a body is kept", || server.metric("ptc_http_body_bytes") == 0.0);
    wait_until("none of them runs", || server.metric("ptc_calls_in_flight") == 0.0);
}
