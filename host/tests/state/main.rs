//! One suite over every back end of the state store, with two handles of one store against each other (state.md 2).

mod memory;
mod suite;

use std::sync::Arc;

use libtest_mimic::{Arguments, Trial};
use ptc_host::state::{StateStore, StoreLimits};

/// Two handles of one store, which is empty at first.
#[derive(Clone)]
struct Handles {
    one: Arc<dyn StateStore>,
    other: Arc<dyn StateStore>,
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
            let runtime =
                tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
            runtime.block_on((case.run)(back_end.open(case.limits)));
            Ok(())
        })
    })
}

fn main() {
    let arguments = Arguments::from_args();
    let all = trials(Arc::new(memory::Memory));
    libtest_mimic::run(&arguments, all.collect()).exit();
}
