//! The locks of the standard library without their poison: what a task that panicked has left is used as it is. Every lock of this
//! workspace holds values that each statement leaves whole, and a panic ends one request, never the process.

use std::sync::{MutexGuard, PoisonError, RwLockReadGuard, RwLockWriteGuard, TryLockError};

/// [`std::sync::Mutex`] whose [`lock`](Mutex::lock) gives the guard at once. It works with [`std::sync::Condvar`].
#[derive(Debug, Default)]
pub struct Mutex<T: ?Sized>(std::sync::Mutex<T>);

impl<T> Mutex<T> {
    /// A lock around `value`.
    pub const fn new(value: T) -> Mutex<T> {
        Mutex(std::sync::Mutex::new(value))
    }

    /// The value, of a lock that nobody else has.
    pub fn into_inner(self) -> T {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Waits for the lock.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The lock, unless somebody has it.
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        match self.0.try_lock() {
            Ok(guard) => Some(guard),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// The value, of a lock that is borrowed alone.
    pub fn get_mut(&mut self) -> &mut T {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}

/// [`std::sync::RwLock`] whose guards come at once.
#[derive(Debug, Default)]
pub struct RwLock<T: ?Sized>(std::sync::RwLock<T>);

impl<T> RwLock<T> {
    /// A lock around `value`.
    pub const fn new(value: T) -> RwLock<T> {
        RwLock(std::sync::RwLock::new(value))
    }
}

impl<T: ?Sized> RwLock<T> {
    /// Waits for shared access.
    pub fn read(&self) -> RwLockReadGuard<'_, T> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for exclusive access.
    pub fn write(&self) -> RwLockWriteGuard<'_, T> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_of_one_holder_leaves_the_lock_usable() {
        let (mutex, shared) = (Mutex::new(1), RwLock::new(1));
        let panicked = std::thread::scope(|scope| {
            let holder = scope.spawn(|| {
                let (mut one, mut other) = (mutex.lock(), shared.write());
                (*one, *other) = (2, 2);
                panic!("while both are held");
            });
            holder.join().is_err()
        });
        assert!(panicked);
        assert_eq!((*mutex.lock(), *shared.read()), (2, 2));
        assert_eq!(mutex.into_inner(), 2);
    }
}
