//! One suite over every back end of the state store, with two handles of one store against each other (state.md 2).

mod memory;
#[cfg(feature = "state")]
mod redb;
#[cfg(feature = "state")]
mod redis;
#[cfg(feature = "state")]
mod redis_faults;
mod suite;

use std::sync::Arc;
use std::time::Duration;

use libtest_mimic::{Arguments, Trial};
use ptc_host::state::{StateStore, StoreLimits};
use ptc_host::time::Clock;
use ptc_test_support::PATIENCE;

/// Two handles of one store, which is empty at first.
struct Handles {
    one: Arc<dyn StateStore>,
    other: Arc<dyn StateStore>,
    time: Time,
}

/// The time by which a store goes.
#[derive(Clone)]
enum Time {
    /// The clock of the test, which is set ahead.
    Stepped(Clock),
    /// That of a server, which cannot be.
    OfServer,
}

impl Time {
    /// Long enough for what is to be done before, and short enough to wait for.
    fn short(&self) -> Duration {
        match self {
            Time::Stepped(_) => Duration::from_secs(300),
            Time::OfServer => Duration::from_millis(60),
        }
    }

    /// Ends when so much time has passed, or soon will have.
    fn pass(&self) {
        if let Time::Stepped(clock) = self {
            clock.advance(self.short());
        }
    }

    /// Ends when it has passed.
    async fn has_passed(&self) {
        match self {
            Time::Stepped(_) => self.pass(),
            Time::OfServer => tokio::time::sleep(2 * self.short()).await,
        }
    }
}

/// A back end under test.
trait BackEnd: Send + Sync + 'static {
    /// Its name in the names of tests.
    fn name(&self) -> &'static str;

    /// A new store. What it needs lasts as long as the back end.
    fn open(&self, limits: StoreLimits) -> Handles;
}

/// Every case of the suite over `back_end`.
fn trials(back_end: Arc<dyn BackEnd>) -> impl Iterator<Item = Trial> {
    suite::CASES.iter().map(move |case| {
        let back_end = back_end.clone();
        Trial::test(format!("{}::{}", back_end.name(), case.name), move || {
            let _entered = Clock::stepped().enter();
            let runtime =
                tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
            let handles = back_end.open(case.limits);
            runtime
                .block_on(async { tokio::time::timeout(PATIENCE, (case.run)(handles)).await })
                .map_err(|_| "it hangs".into())
        })
    })
}

/// The trials of the stores in a file.
#[cfg(feature = "state")]
fn of_files() -> Vec<Trial> {
    use ptc_host::state::Flushing;
    let back_ends = [(Flushing::Disk, false), (Flushing::Process, false), (Flushing::Process, true)];
    let all = back_ends.into_iter().flat_map(|(flushing, seals)| {
        let folders = tempfile::tempdir().expect("a folder");
        trials(Arc::new(redb::Redb { flushing, seals, folders }))
    });
    all.chain(redb::kills()).collect()
}

/// The trials of the stores in servers, where there is a `redis-server`. With `PTC_TEST_REDIS=required` there must be one.
#[cfg(feature = "state")]
fn of_servers() -> Vec<Trial> {
    use redis::{Redis, Shape};
    if !ptc_test_support::redis_server::is_there() {
        eprintln!("there is no redis-server here: the stores in servers are not tested");
        return Vec::new();
    }
    let shapes = [Shape::Alone, Shape::Password, Shape::Tls, Shape::Cluster];
    let all = shapes.into_iter().flat_map(|shape| trials(Arc::new(Redis::of(shape))));
    all.chain(redis_faults::trials()).collect()
}

#[cfg(not(feature = "state"))]
fn of_servers() -> Vec<Trial> {
    Vec::new()
}

#[cfg(not(feature = "state"))]
fn of_files() -> Vec<Trial> {
    Vec::new()
}

fn main() {
    #[cfg(feature = "state")]
    if redb::is_child() {
        return;
    }
    let arguments = Arguments::from_args();
    let all = trials(Arc::new(memory::Memory)).chain(of_files()).chain(of_servers());
    libtest_mimic::run(&arguments, all.collect()).exit();
}
