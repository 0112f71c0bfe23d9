//! A store of sign-ins that counts what is done with it, and meets an end in the middle of that.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use ptc_host::sign_in::store::{
    AuthStore, Guard, Protection, RecordKey, RecordKind, RecordSummary, RecordText, StoreError,
};

/// An operation of the store, in the order in which they come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    /// Nothing of it is done.
    Before,
    /// It is done, and nobody knows.
    After,
}

/// What happens at an operation: its number, and the text of a record that is to be written.
type Interrupt = Box<dyn Fn(usize, Moment, &str) + Send + Sync>;

/// A store in front of another one.
pub(crate) struct InterruptedStore<S> {
    inner: S,
    done: AtomicUsize,
    interrupt: Interrupt,
}

impl<S: AuthStore> InterruptedStore<S> {
    /// `interrupt` happens before and after each operation.
    pub(crate) fn new(
        inner: S,
        interrupt: impl Fn(usize, Moment, &str) + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self { inner, done: AtomicUsize::new(0), interrupt: Box::new(interrupt) })
    }

    async fn step<T>(&self, text: &str, work: BoxFuture<'_, T>) -> T {
        let number = self.done.fetch_add(1, Ordering::SeqCst);
        (self.interrupt)(number, Moment::Before, text);
        let done = work.await;
        (self.interrupt)(number, Moment::After, text);
        done
    }
}

impl<S: AuthStore> AuthStore for InterruptedStore<S> {
    fn read<'a>(&'a self, key: &'a RecordKey) -> BoxFuture<'a, Result<Option<RecordText>, StoreError>> {
        self.step("", self.inner.read(key)).boxed()
    }

    fn lock<'a>(&'a self, key: &'a RecordKey) -> BoxFuture<'a, Result<Guard, StoreError>> {
        self.step("", self.inner.lock(key)).boxed()
    }

    fn write<'a>(&'a self, guard: &'a Guard, text: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        self.step(text, self.inner.write(guard, text)).boxed()
    }

    fn delete<'a>(&'a self, guard: &'a Guard) -> BoxFuture<'a, Result<(), StoreError>> {
        self.step("", self.inner.delete(guard)).boxed()
    }

    fn list(&self, kind: RecordKind) -> BoxFuture<'_, Result<Vec<RecordSummary>, StoreError>> {
        self.step("", self.inner.list(kind)).boxed()
    }

    fn protection(&self) -> Protection {
        self.inner.protection()
    }
}
