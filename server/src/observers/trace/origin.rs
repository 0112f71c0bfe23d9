//! The HTTP request that a call came with.
//!
//! Messages are answered, or made ready to run, without a pause in between, on the thread that read them. So the
//! request is told to whoever traces a call by way of the thread, past everything that has nothing to do with it.

use std::cell::RefCell;

use http::HeaderValue;

/// The HTTP request that a call came with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// Its `X-Request-Id`.
    pub request_id: HeaderValue,
}

thread_local! {
    static CURRENT: RefCell<Option<Origin>> = const { RefCell::new(None) };
}

/// Does `work` for a message that came with `origin`.
pub fn scoped<R>(origin: Origin, work: impl FnOnce() -> R) -> R {
    struct Restore(Option<Origin>);
    impl Drop for Restore {
        fn drop(&mut self) {
            CURRENT.set(self.0.take());
        }
    }
    let _restore = Restore(CURRENT.replace(Some(origin)));
    work()
}

/// The HTTP request of the message that this thread works on; `None` for one from a pipe.
pub fn current() -> Option<Origin> {
    CURRENT.with_borrow(Clone::clone)
}
