//! Processes that are killed with a signal that nobody can catch.

use std::io::{Read, Write};
use std::process::{Command, Stdio};

use nix::sys::signal::Signal::SIGKILL;

use ptc_test_support::process::{
    Http, Launch, Pipes, call, descriptors, family, is_alive, send, tool, waiting,
};
use ptc_test_support::wait_until;

/// The upstream process, and its guard.
fn upstream_and_guard(server: u32) -> (u32, u32) {
    let mut found = (0, 0);
    wait_until("the upstream runs under its guard", || {
        let family = family(server);
        let process = |is_tool: bool| family.iter().find(|(_, name)| name.starts_with("fake-up") == is_tool);
        match (process(true), process(false)) {
            (Some((tool, _)), Some((guard, _))) if family.len() == 2 => {
                found = (*tool, *guard);
                true
            }
            _ => false,
        }
    });
    found
}

/// How many ends of upstreams were told.
fn ends(launch: &Launch) -> usize {
    launch.log().matches(r#""event":"upstream_ended""#).count()
}

/// A call that is never answered, once the upstream has it.
fn hang(server: &mut Pipes) {
    server.call("hang", &format!("(:reason {})", tool("hang", "{}")));
    loop {
        server.call("waiting", &waiting());
        let (id, text) = server.answer();
        assert_eq!(id, "waiting", "{text}");
        if text == "user=> 1" {
            return;
        }
    }
}

fn comes_back(server: &mut Pipes) {
    let program = format!("(:ok {})", tool("echo", "{}"));
    wait_until("the upstream is back", || server.eval(&program) == "user=> true");
}

#[test]
fn an_upstream_that_is_killed_costs_its_calls_and_comes_back() {
    let mut server = Launch::new(&[]).with_upstream().on_pipes();
    let mut before = None;
    for round in 0..3 {
        let (child, guard) = upstream_and_guard(server.server.pid());
        hang(&mut server);
        let held = || descriptors(server.server.pid());
        // What the one before had is closed behind the start of this one.
        let before = *before.get_or_insert_with(held);
        wait_until("no descriptor is left", || held() <= before);
        // The guard may be what the system kills; the tool must not outlive it.
        send(if round == 1 { guard } else { child }, SIGKILL);
        let (id, text) = server.answer();
        assert_eq!((id, text.as_str()), ("hang".into(), "user=> :upstream_unavailable"));
        wait_until("both are gone", || !is_alive(child) && !is_alive(guard));
        comes_back(&mut server);
    }
    upstream_and_guard(server.server.pid());
    wait_until("each end is told", || ends(&server.server.launch) == 3);
}

#[test]
fn an_upstream_that_is_killed_at_rest_costs_nobody_anything() {
    let mut server = Launch::new(&[]).with_upstream().on_pipes();
    let program = format!("(:ok {})", tool("echo", "{}"));
    assert_eq!(server.eval(&program), "user=> true");
    let (child, guard) = upstream_and_guard(server.server.pid());
    send(child, SIGKILL);
    wait_until("both are gone", || !is_alive(child) && !is_alive(guard));
    wait_until("its end is known", || ends(&server.server.launch) == 1);
    assert_eq!(server.eval(&program), "user=> true");
}

#[test]
fn a_server_that_is_killed_leaves_no_process_and_its_client_hears_of_it() {
    let mut server = Launch::new(&[]).with_upstream().on_pipes();
    let (child, guard) = upstream_and_guard(server.server.pid());
    hang(&mut server);
    server.server.signal(SIGKILL);
    assert_eq!(server.rest(), [], "nothing more is said, and the pipe is closed");
    wait_until("no child of it is left", || !is_alive(child) && !is_alive(guard));
    let Pipes { server, .. } = server;
    let mut again = server.into_launch().on_pipes();
    comes_back(&mut again);
    again.hang_up();
    assert!(again.rest().is_empty() && again.server.ended().success());
}

#[test]
fn a_listener_that_is_killed_leaves_no_process_and_its_address_can_be_used_again() {
    let flags = ["--http-metrics"];
    let server = Launch::new(&flags).with_upstream().on_http();
    let (child, guard) = upstream_and_guard(server.server.pid());
    let mut hanging = server.call(&tool("hang", "{}"));
    wait_until("the call waits", || server.eval(&waiting()) == "user=> 1");
    server.server.signal(SIGKILL);
    let mut rest = Vec::new();
    // An end or a reset: either way the client hears of it.
    let _ = hanging.read_to_end(&mut rest);
    assert!(rest.is_empty());
    wait_until("no child of it is left", || !is_alive(child) && !is_alive(guard));
    let Http { server, address } = server;
    let again = server.into_launch().on_http();
    // The port is free again: nobody inherited the socket.
    std::net::TcpListener::bind(&address).expect("nobody listens there any more");
    assert_eq!(again.eval("(+ 1 2)"), "user=> 3");
}

#[test]
fn a_client_that_is_killed_takes_its_conversation_along() {
    // A client as a process of its own: what it is told to say, it says to the server.
    let mut client = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("cat");
    let said = client.stdout.take().expect("piped");
    let server = Launch::new(&[]).with_upstream().on_pipe_of(said.into());
    let mut say = client.stdin.take().expect("piped");
    writeln!(say, "{}\n{}", call("hang", &tool("hang", "{}")), call("endless", "(loop [] (recur))")).unwrap();
    let (child, guard) = upstream_and_guard(server.server.pid());
    loop {
        writeln!(say, "{}", call("waiting", &waiting())).unwrap();
        if server.answer().1 == "user=> 1" {
            break;
        }
    }
    send(client.id(), SIGKILL);
    client.wait().expect("it was there");
    // Neither the program that waits nor the one that runs holds the server back.
    assert_eq!(server.rest(), []);
    let mut server = server;
    assert!(server.server.ended().success());
    wait_until("no child of it is left", || !is_alive(child) && !is_alive(guard));
}

#[test]
fn an_http_client_that_is_killed_takes_its_programs_along() {
    let server = Launch::new(&["--http-metrics"]).with_upstream().on_http();
    assert_eq!(server.eval(&waiting()), "user=> 0");
    let before = descriptors(server.server.pid());
    for _ in 0..3 {
        // What the system does for a process that is killed: it closes its sockets.
        let mut clients: Vec<_> = (0..20).map(|_| server.call(&tool("hang", "{}"))).collect();
        clients.extend((0..4).map(|_| server.call("(loop [] (recur))")));
        wait_until("all wait", || server.eval(&waiting()) == "user=> 20");
        drop(clients);
        wait_until("the upstream is told", || server.eval(&waiting()) == "user=> 0");
        wait_until("no program is left", || server.metric("ptc_calls_in_flight") == 0.0);
    }
    wait_until("no descriptor is left", || descriptors(server.server.pid()) <= before);
}
