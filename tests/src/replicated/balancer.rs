//! A balancer that gives each connection to the next server, and to another one if that is not there.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// Carries connections for as long as the process lives.
pub struct Balancer {
    /// Where it listens.
    pub address: String,
    servers: Arc<Mutex<Vec<String>>>,
}

impl Balancer {
    /// Balances over the servers at these addresses.
    ///
    /// # Panics
    /// If there is no free port.
    pub fn over(servers: &[&str]) -> Balancer {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("bound").to_string();
        let servers: Vec<String> = servers.iter().map(|&server| server.to_owned()).collect();
        let servers = Arc::new(Mutex::new(servers));
        let known = servers.clone();
        std::thread::spawn(move || {
            let next = AtomicUsize::new(0);
            for client in listener.incoming().map_while(Result::ok) {
                let servers = known.lock().expect("no panic").clone();
                let first = next.fetch_add(1, Ordering::Relaxed);
                let mut tried = (0..servers.len()).map(|at| &servers[(first + at) % servers.len()]);
                if let Some(server) = tried.find_map(|server| TcpStream::connect(server).ok()) {
                    carry(client, server);
                }
            }
        });
        Balancer { address, servers }
    }

    /// Has another server in the place of one.
    ///
    /// # Panics
    /// If it has not so many.
    pub fn replace(&self, at: usize, server: &str) {
        self.servers.lock().expect("no panic")[at] = server.to_owned();
    }
}

fn carry(client: TcpStream, server: TcpStream) {
    // Without descriptors the connection ends, as at any balancer.
    let (Ok(from), Ok(to)) = (client.try_clone(), server.try_clone()) else { return };
    let ways = [(from, to), (server, client)];
    for (mut from, mut to) in ways {
        std::thread::spawn(move || {
            let mut bytes = [0; 16 << 10];
            while let Ok(length @ 1..) = from.read(&mut bytes) {
                if to.write_all(&bytes[..length]).is_err() {
                    break;
                }
            }
            let _ = to.shutdown(Shutdown::Write);
        });
    }
}
