//! Two servers with one public address and one store: who signs in at one is signed in at both (state.md 1 and 6).

use std::time::Duration;

use ptc_test_support::redis_server::RedisServer;
use ptc_tests::replicated::balancer::Balancer;
use ptc_tests::replicated::write_secret;

use super::server::{ANN, BEN, Server, ask, consent};
use super::{plain, registered};
use ptc_test_support::authorization_server::{AuthorizationServer, Rotation, Script, Trouble};

/// Two servers behind a balancer.
struct Pair {
    balancer: Balancer,
    servers: [Server; 2],
    _folder: tempfile::TempDir,
    _redis: RedisServer,
}

impl Pair {
    /// `None` where there is no `redis-server`.
    fn start(hosted: &AuthorizationServer) -> Option<Pair> {
        Pair::start_with(hosted, &[])
    }

    /// The same with these variables for the first one.
    fn start_with(hosted: &AuthorizationServer, variables: &[(&str, String)]) -> Option<Pair> {
        let redis = RedisServer::start()?;
        let folder = tempfile::tempdir().expect("a folder");
        let secret = folder.path().join("secret");
        write_secret(&secret);
        let balancer = Balancer::over(&["", ""]);
        let url = format!("redis://127.0.0.1:{}", redis.port);
        let public = format!("http://{}/mcp", balancer.address);
        let secret = secret.to_str().expect("UTF-8");
        let flags = ["--public-url", &public, "--state-url", &url, "--state-secret-file", secret];
        let servers = [0, 1].map(|at| {
            let flags = [&flags[..], &["--log-level", "error"]].concat();
            let server = Server::start_with(hosted, &flags, if at == 0 { variables } else { &[] });
            balancer.replace(at, &format!("127.0.0.1:{}", server.port));
            server
        });
        Some(Pair { balancer, servers, _folder: folder, _redis: redis })
    }

    fn port(&self) -> u16 {
        self.balancer.address.rsplit_once(':').and_then(|(_, port)| port.parse().ok()).expect("a port")
    }

    /// Begins a sign-in at one server: where the browser comes back to, and its cookie.
    fn begins(&self, server: &Server, token: &str) -> (String, String) {
        let origin = format!("http://{}", self.balancer.address);
        let headers = [("Authorization", &*format!("Bearer {token}")), ("Origin", &origin)];
        let begun = server.ask("POST", "/oauth/start?upstream=notes", &headers, "");
        assert_eq!(begun.status, 200, "{}", begun.body);
        let cookie = begun.header("set-cookie").expect("a cookie");
        let cookie = cookie.split(';').next().expect("a pair").to_owned();
        (consent(begun.json()["url"].as_str().expect("a link")), cookie)
    }

    /// Waits until calls at both servers notice that she is signed in.
    fn knows(&self, token: &str) {
        self.servers.iter().for_each(|server| server.knows(token));
    }

    fn signs_in(&self, token: &str) {
        let (back, cookie) = self.begins(&self.servers[0], token);
        let done = self.servers[1].ask("GET", &back, &[("Cookie", &cookie)], "");
        assert_eq!(done.status, 200, "{}", done.body);
        self.knows(token);
    }
}

#[test]
fn a_sign_in_that_began_at_one_replica_ends_at_the_other_and_is_good_at_both() {
    let hosted = AuthorizationServer::start(plain("/mcp"));
    let Some(pair) = Pair::start(&hosted) else { return };
    let (back, cookie) = pair.begins(&pair.servers[0], ANN);
    // The browser where it began takes the answer back, whichever replica it meets, and no other browser does.
    for server in &pair.servers {
        assert_eq!(server.ask("GET", &back, &[], "").status, 400);
        assert!(server.calls(ANN).contains("not signed in to upstream 'notes'"));
    }
    let done = ask(pair.port(), "GET", &back, &[("Cookie", &cookie)], "");
    assert_eq!(done.status, 200, "{}", done.body);
    for server in &pair.servers {
        assert_eq!(server.ask("GET", &back, &[("Cookie", &cookie)], "").status, 400, "a state is good once");
    }
    pair.knows(ANN);
    for server in &pair.servers {
        assert!(server.calls(BEN).contains("not signed in to upstream 'notes'"), "it is hers alone");
    }
    // One client of the authorization server is enough for both.
    assert_eq!(registered(&hosted), 1);
    assert_eq!(hosted.grants("authorization_code").len(), 1);
}

#[test]
fn of_replicas_that_want_new_tokens_at_once_one_fetches_them() {
    let hosted = AuthorizationServer::start(Script { rotation: Rotation::ReuseEndsFamily, ..plain("/mcp") });
    let Some(pair) = Pair::start(&hosted) else { return };
    pair.signs_in(ANN);
    let before = hosted.grants("refresh_token").len();
    for round in 1..=3 {
        hosted.forget_access();
        // Slow enough for all to be there. A second use of a token would end the sign-in.
        hosted.trouble("/token", Trouble::Slow(Duration::from_millis(300)));
        std::thread::scope(|scope| {
            for server in pair.servers.iter().chain(&pair.servers) {
                scope.spawn(|| {
                    let told = server.calls(ANN);
                    assert!(told.contains("family 0"), "{told}");
                });
            }
        });
        assert_eq!(hosted.grants("refresh_token").len() - before, round);
    }
}

#[test]
fn tokens_live_as_long_at_replicas_whose_clocks_differ() {
    let Some(variables) = ptc_test_support::other_clock::ahead(300) else { return };
    // Shorter than the clocks differ: by the other one each of them would have ended before it was issued.
    let hosted = AuthorizationServer::start(Script { lifetime: Some(200), ..plain("/mcp") });
    let Some(pair) = Pair::start_with(&hosted, &variables) else { return };
    pair.signs_in(ANN);
    for _ in 0..3 {
        for server in &pair.servers {
            assert!(server.calls(ANN).contains("family"), "{}", server.calls(ANN));
        }
    }
    assert_eq!(hosted.grants("refresh_token").len(), 0, "nobody takes it for ended");
    // What one fetches anew is as good at the other one.
    hosted.forget_access();
    for server in pair.servers.iter().chain(&pair.servers) {
        assert!(server.calls(ANN).contains("family"), "{}", server.calls(ANN));
    }
    assert_eq!(hosted.grants("refresh_token").len(), 1);
}
