//! Everything that a client can send over real pipes and sockets has its answer, and memory stays bounded.

mod disk;
mod floods;
mod health;
mod http;
mod neighbours;
mod process;
mod restart;
mod results;
mod start;
mod stdio;
