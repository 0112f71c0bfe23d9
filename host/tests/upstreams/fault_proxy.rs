//! Proxies between an upstream of ours and a healthy server that hurt what passes: one on a loopback socket, one on
//! standard streams. They hurt the answers to requests that carry [`MARK`], and nothing else.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use ptc_mcp::json::{Value, json};
use url::Url;

use crate::fake_stdio;

/// What a request carries whose answer is to be hurt.
pub(crate) const MARK: &str = "hurt";

/// The pause between two bytes of a slow answer. The last one does not come as long as somebody waits for it.
const DRIP: Duration = Duration::from_millis(5);

/// What can happen to an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Nobody listens any more.
    Refused,
    /// The connection is reset in the middle.
    Reset,
    /// One byte after the other, with a pause behind each.
    Dripping,
    /// It announces more than it is.
    TooShort,
    /// It announces less than it is.
    TooLong,
    /// Events without end, none of them the answer.
    EndlessEvents,
    /// Text that is none.
    NotUtf8,
    /// More than the caller admits.
    Oversized,
    /// The server closes its side in the middle and goes on listening.
    HalfClosed,
    /// Unauthorized, whatever is asked.
    Unauthorized,
    /// An error of the server.
    ServerError,
    /// A redirect to another origin.
    Redirect,
    /// An answer to a request that nobody made, and none to the one that was.
    ToNobody,
    /// The answer, twice.
    Twice,
}

impl Fault {
    pub(crate) const ALL: [Fault; 14] = [
        Fault::Refused,
        Fault::Reset,
        Fault::Dripping,
        Fault::TooShort,
        Fault::TooLong,
        Fault::EndlessEvents,
        Fault::NotUtf8,
        Fault::Oversized,
        Fault::HalfClosed,
        Fault::Unauthorized,
        Fault::ServerError,
        Fault::Redirect,
        Fault::ToNobody,
        Fault::Twice,
    ];
}

/// A proxy in front of an HTTP server. It ends when it is dropped.
pub(crate) struct HttpProxy {
    pub(crate) url: Url,
    shared: Arc<Shared>,
    /// Has the listener until it ends.
    accepting: Mutex<Option<JoinHandle<()>>>,
}

struct Shared {
    behind: u16,
    fault: Fault,
    /// Where a redirect leads.
    elsewhere: Url,
    hurt: AtomicUsize,
    open: Mutex<Vec<(usize, TcpStream)>>,
    over: AtomicBool,
}

/// One message with its framing.
struct Message {
    head: String,
    body: Vec<u8>,
}

impl HttpProxy {
    pub(crate) fn start(behind: &Url, fault: Fault, elsewhere: &Url) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut url = behind.clone();
        url.set_port(Some(listener.local_addr().unwrap().port())).unwrap();
        let shared = Arc::new(Shared {
            behind: behind.port().unwrap(),
            fault,
            elsewhere: elsewhere.clone(),
            hurt: AtomicUsize::new(0),
            open: Mutex::default(),
            over: AtomicBool::new(false),
        });
        let accepting = shared.clone();
        let accepting = std::thread::spawn(move || {
            for (number, stream) in listener.incoming().enumerate() {
                // The listener goes with this thread.
                if accepting.over.load(Ordering::SeqCst) {
                    return;
                }
                let (shared, stream) = (accepting.clone(), stream.unwrap());
                shared.open.lock().unwrap().push((number, stream.try_clone().unwrap()));
                std::thread::spawn(move || {
                    let _ = shared.pass(stream);
                    shared.open.lock().unwrap().retain(|(known, _)| *known != number);
                });
            }
        });
        Self { url, shared, accepting: Mutex::new(Some(accepting)) }
    }

    /// Answers that were hurt.
    pub(crate) fn hurt(&self) -> usize {
        self.shared.hurt.load(Ordering::SeqCst)
    }

    /// Connections that are open now.
    pub(crate) fn open(&self) -> usize {
        self.shared.open.lock().unwrap().len()
    }

    /// Stops listening and closes what is open. From then on connections are refused.
    pub(crate) fn close(&self) {
        self.shared.over.store(true, Ordering::SeqCst);
        if let Some(accepting) = self.accepting.lock().unwrap().take() {
            let _ = TcpStream::connect(("127.0.0.1", self.url.port().unwrap()));
            accepting.join().unwrap();
        }
        for (_, stream) in &*self.shared.open.lock().unwrap() {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

impl Drop for HttpProxy {
    fn drop(&mut self) {
        self.close();
    }
}

impl Shared {
    /// Serves one connection until one side has enough of it.
    fn pass(&self, mut client: TcpStream) -> Option<()> {
        client.set_nodelay(true).ok()?;
        let mut requests = BufReader::new(client.try_clone().ok()?);
        let mut server = TcpStream::connect(("127.0.0.1", self.behind)).ok()?;
        server.set_nodelay(true).ok()?;
        let mut answers = BufReader::new(server.try_clone().ok()?);
        loop {
            let request = Message::read(&mut requests)?;
            server.write_all(&request.bytes()).ok()?;
            let answer = Message::read(&mut answers)?;
            let marked = request.head.contains(MARK) || String::from_utf8_lossy(&request.body).contains(MARK);
            if !marked {
                client.write_all(&answer.bytes()).ok()?;
                continue;
            }
            self.hurt.fetch_add(1, Ordering::SeqCst);
            if self.fault == Fault::Reset {
                let half = answer.bytes().len() / 2;
                client.write_all(&answer.bytes()[..half]).ok()?;
                // The reset is only sent when the last handle is closed.
                self.open.lock().unwrap().clear();
                drop(requests);
                return reset(client);
            }
            self.hurt_answer(&mut client, answer)?;
        }
    }

    /// Writes the hurt answer; `None` ends the connection.
    fn hurt_answer(&self, client: &mut TcpStream, mut answer: Message) -> Option<()> {
        let whole = answer.bytes();
        match self.fault {
            Fault::Refused | Fault::Reset => return None,
            Fault::Dripping => {
                for byte in &whole[..whole.len() - 1] {
                    client.write_all(&[*byte]).ok()?;
                    std::thread::sleep(DRIP);
                }
                let _ = client.read(&mut [0; 1]);
                return None;
            }
            Fault::TooShort => {
                answer.set_length(answer.body.len() + 10);
                client.write_all(&answer.bytes()).ok()?;
                return None;
            }
            Fault::TooLong => {
                answer.set_length(answer.body.len() - 2);
                client.write_all(&answer.bytes()).ok()?;
            }
            Fault::EndlessEvents => {
                client.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n").ok()?;
                loop {
                    client
                        .write_all(b"data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\n\n")
                        .ok()?;
                }
            }
            Fault::NotUtf8 => {
                let at = answer.body.iter().rposition(|byte| *byte == b'x')?;
                answer.body[at] = 0xFF;
                client.write_all(&answer.bytes()).ok()?;
            }
            Fault::Oversized => {
                // White space is JSON's to ignore, and bytes all the same.
                answer.body.extend(std::iter::repeat_n(b' ', 100_000));
                answer.set_length(answer.body.len());
                client.write_all(&answer.bytes()).ok()?;
            }
            Fault::HalfClosed => {
                client.write_all(&whole[..whole.len() / 2]).ok()?;
                client.shutdown(Shutdown::Write).ok()?;
                let _ = client.read(&mut [0; 1]);
                return None;
            }
            Fault::Unauthorized => client.write_all(b"HTTP/1.1 401 X\r\ncontent-length: 0\r\n\r\n").ok()?,
            Fault::ServerError => {
                client.write_all(b"HTTP/1.1 500 X\r\ncontent-length: 4\r\n\r\noops").ok()?
            }
            Fault::Redirect => {
                let head =
                    format!("HTTP/1.1 302 X\r\nlocation: {}\r\ncontent-length: 0\r\n\r\n", self.elsewhere);
                client.write_all(head.as_bytes()).ok()?;
            }
            Fault::ToNobody => {
                let mut reply: Value = serde_json::from_slice(&answer.body).ok()?;
                reply["id"] = json!(987_654_321);
                answer.body = reply.to_string().into_bytes();
                answer.set_length(answer.body.len());
                client.write_all(&answer.bytes()).ok()?;
            }
            Fault::Twice => client.write_all(&[whole.clone(), whole].concat()).ok()?,
        }
        Some(())
    }
}

impl Message {
    fn read(from: &mut BufReader<TcpStream>) -> Option<Message> {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            from.read_line(&mut head).ok().filter(|read| *read > 0)?;
        }
        let mut body = vec![0; length(&head)];
        from.read_exact(&mut body).ok()?;
        Some(Message { head, body })
    }

    fn bytes(&self) -> Vec<u8> {
        [self.head.as_bytes(), &self.body].concat()
    }

    fn set_length(&mut self, bytes: usize) {
        let old = format!("content-length: {}\r\n", length(&self.head));
        self.head = self.head.replace(&old, &format!("content-length: {bytes}\r\n"));
    }
}

fn length(head: &str) -> usize {
    let value = head
        .lines()
        .find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length:")?.trim().parse().ok());
    value.unwrap_or(0)
}

/// Ends a connection with a reset.
fn reset(client: TcpStream) -> Option<()> {
    client.set_nonblocking(true).ok()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().ok()?;
    let _inside = runtime.enter();
    tokio::net::TcpStream::from_std(client).ok()?.set_zero_linger().ok()
}

/// The first argument that makes the test binary a proxy on standard streams; the second is the number of its fault.
pub(crate) const ROLE: &str = "--fault-proxy";

/// Stands between standard streams and a healthy server, until one of them ends.
pub(crate) fn serve_stdio(fault: &str) -> ! {
    let fault = Fault::ALL[fault.parse::<usize>().unwrap()];
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([fake_stdio::ROLE, "plain"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut down = child.stdin.take().unwrap();
    let marked: Arc<Mutex<Vec<Value>>> = Arc::default();
    let noted = marked.clone();
    let (give_up, given_up) = channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            if line.contains("notifications/cancelled") {
                let _ = give_up.send(());
            }
            if line.contains(MARK) {
                let request: Value = serde_json::from_str(&line).unwrap();
                noted.lock().unwrap().push(request["id"].clone());
            }
            writeln!(down, "{line}").unwrap();
        }
    });
    for line in BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok) {
        let reply: Value = serde_json::from_str(&line).unwrap();
        if marked.lock().unwrap().contains(&reply["id"]) {
            hurt_line(fault, &line, reply, &given_up);
        } else {
            say(format!("{line}\n").as_bytes());
        }
    }
    let _ = child.wait();
    std::process::exit(0)
}

/// Says the hurt line. A slow one comes as a whole when the call is `given_up`.
fn hurt_line(fault: Fault, line: &str, mut reply: Value, given_up: &Receiver<()>) {
    let error = |code: i64, message: &str| {
        let error = json!({"jsonrpc": "2.0", "id": reply["id"], "error": {"code": code, "message": message}});
        format!("{error}\n")
    };
    match fault {
        Fault::Refused => {
            eprintln!("go away");
            std::process::exit(1);
        }
        Fault::Reset => {
            say(&line.as_bytes()[..line.len() / 2]);
            std::process::exit(1);
        }
        Fault::Dripping => {
            let bytes = line.as_bytes();
            let (mut said, last) = (0, bytes.len() - 1);
            while said < last && given_up.recv_timeout(DRIP) == Err(RecvTimeoutError::Timeout) {
                say(&bytes[said..=said]);
                said += 1;
            }
            if said == last {
                let _ = given_up.recv();
            }
            say(&bytes[said..]);
            say(b"\n");
        }
        // A line's only frame is its end.
        Fault::TooShort => say(format!("{}\n", &line[..line.len() - 1]).as_bytes()),
        Fault::TooLong => say(format!("{line}}}\n").as_bytes()),
        Fault::EndlessEvents => {
            for _ in 0..20_000 {
                say(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\n");
            }
        }
        Fault::NotUtf8 => {
            let mut bytes = format!("{line}\n").into_bytes();
            let at = bytes.iter().rposition(|byte| *byte == b'x').unwrap();
            bytes[at] = 0xFF;
            say(&bytes);
        }
        Fault::Oversized => say(format!("{line}{}\n", " ".repeat(100_000)).as_bytes()),
        Fault::HalfClosed => {
            say(&line.as_bytes()[..line.len() / 2]);
            nix::unistd::dup2_stdout(std::fs::File::open("/dev/null").unwrap()).unwrap();
        }
        // What stands for these where there is no HTTP: errors of the protocol.
        Fault::Unauthorized => say(error(-32001, "unauthorized").as_bytes()),
        Fault::ServerError => say(error(-32603, "internal error").as_bytes()),
        Fault::Redirect => say(error(-32000, "moved to http://elsewhere.invalid/").as_bytes()),
        Fault::ToNobody => {
            reply["id"] = json!(987_654_321);
            say(format!("{reply}\n").as_bytes());
        }
        Fault::Twice => say(format!("{line}\n{line}\n").as_bytes()),
    }
}

fn say(bytes: &[u8]) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(bytes).and_then(|()| out.flush());
}
