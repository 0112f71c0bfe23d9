//! The most memory that compilation and hostile programs take, as the allocator of the process counts it.

mod compilation;
mod hostile_programs;

use peak_alloc::PeakAlloc;
use tokio::sync::Mutex;

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

/// One test at a time: they measure the process.
static ALONE: Mutex<()> = Mutex::const_new(());
