//! What a client does behind a balancer: a connection for each request, and another one for a request whose server was
//! killed before its answer came, or in the middle of one whose length it had declared, if the request may come twice.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::RwLock;

use super::http::{Answer, Request};

/// What the clients of a pair know.
pub(super) struct Behind {
    /// The balancer.
    pub(super) balancer: String,
    /// How often a server was killed.
    pub(super) kills: Kills,
    /// How often a request was sent again.
    pub(super) resent: AtomicU64,
    /// Requests that must not come twice have it meanwhile; who kills a server waits for them.
    pub(super) unrepeatable: RwLock<()>,
}

/// Counts kills, so that whoever loses a connection knows whether one was the cause.
#[derive(Default)]
pub(super) struct Kills {
    begun: AtomicU64,
    over: AtomicU64,
}

/// When a connection was made.
#[derive(Clone, Copy)]
struct Since(u64);

impl Kills {
    /// Has it counted before and after.
    pub(super) fn count(&self, kill: impl FnOnce()) {
        self.begun.fetch_add(1, Ordering::AcqRel);
        kill();
        self.over.fetch_add(1, Ordering::AcqRel);
    }

    fn now(&self) -> Since {
        // One that has begun may be one that a connection of now meets.
        Since(self.over.load(Ordering::Acquire))
    }

    fn came_since(&self, since: Since) -> bool {
        self.begun.load(Ordering::Acquire) != since.0
    }
}

/// Bytes of an answer that are held until it is whole.
const HELD: usize = 1 << 20;

/// What comes after a request.
enum Next {
    Request,
    End,
}

/// Carries a client's requests until it leaves.
pub(super) async fn serve(mut client: TcpStream, behind: Arc<Behind>) {
    // What comes of a client that says nothing is the server's affair too.
    let mut request = Request::default();
    while let Ok(Next::Request) = exchange(&mut client, std::mem::take(&mut request), &behind).await {
        match client.read_buf(&mut request.bytes).await {
            Ok(1..) => {}
            _ => return,
        }
    }
}

/// Carries one request, and its answer.
async fn exchange(client: &mut TcpStream, mut request: Request, behind: &Behind) -> std::io::Result<Next> {
    let mut held = None;
    let mut has_left = false;
    'server: loop {
        let since = behind.kills.now();
        let mut server = TcpStream::connect(&behind.balancer).await?;
        let (mut sent, mut answer) = (0, Answer::default());
        // What came of an answer and is not passed on yet.
        let mut come: Vec<u8> = Vec::new();
        let mut has_passed = false;
        let mut bytes = [0; 16 << 10];
        loop {
            if sent < request.bytes.len() {
                if held.is_none() && request.whole().is_some() && !request.may_come_twice() {
                    held = Some(behind.unrepeatable.read().await);
                    // Whom this connection leads to may have been killed meanwhile, and has not seen the whole of it.
                    if behind.kills.came_since(since) {
                        continue 'server;
                    }
                }
                // A server that has seen enough may close before it has read all; its answer is there nonetheless.
                let _ = server.write_all(&request.bytes[sent..]).await;
                sent = request.bytes.len();
            }
            tokio::select! {
                read = client.read_buf(&mut request.bytes), if !has_left => {
                    if read? == 0 {
                        has_left = true;
                        let _ = server.shutdown().await;
                    }
                }
                read = server.read(&mut bytes) => {
                    let read = read.unwrap_or(0);
                    if read == 0 {
                        let was_killed = behind.kills.came_since(since);
                        if was_killed && !has_passed && !has_left && request.may_come_twice() {
                            behind.resent.fetch_add(1, Ordering::Relaxed);
                            continue 'server;
                        }
                        client.write_all(&come).await?;
                        client.shutdown().await?;
                        return Ok(Next::End);
                    }
                    let is_whole = answer.read(&bytes[..read], request.is_head());
                    come.extend_from_slice(&bytes[..read]);
                    if !is_whole && answer.is_awaited() && come.len() < HELD {
                        continue;
                    }
                    has_passed = true;
                    client.write_all(&come).await?;
                    come.clear();
                    // Where more was sent than one request the connection stays the one of all of them.
                    if is_whole && request.whole() == Some(request.bytes.len()) && !ends(&request) {
                        return Ok(Next::Request);
                    }
                }
            }
        }
    }
}

/// Whether the client wants the connection to end with the answer, which the server sees to.
fn ends(request: &Request) -> bool {
    let text = String::from_utf8_lossy(&request.bytes[..request.bytes.len().min(4096)]).to_lowercase();
    text.contains("\r\nconnection: close\r\n")
}
