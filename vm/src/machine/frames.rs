//! The frames of a fiber below the one that runs.

use super::fiber::{BodyIndex, CodeFrame, NativeCall};
use crate::value::Closure;
use std::rc::Rc;

/// One level of the call stack.
#[derive(Default)]
pub(super) enum Frame {
    /// A place without a frame.
    #[default]
    Free,
    /// Code.
    Code(CodeFrame),
    /// A builtin that waits for a call.
    Native(NativeCall),
}

/// A stack of frames. As the [value stack](super::Stack) it is kept longer than it is high, so that a call writes its
/// frame into a place that is there and a return takes it from there.
#[derive(Default)]
pub(super) struct Frames {
    places: Vec<Frame>,
    height: usize,
}

impl Frames {
    /// Whether the next push needs no allocation.
    #[inline(always)]
    pub(super) fn has_room(&self) -> bool {
        self.height < self.places.len()
    }

    /// Bytes allocated.
    #[inline(always)]
    pub(super) fn bytes(&self) -> usize {
        self.places.len() * size_of::<Frame>()
    }

    /// Puts a frame on top.
    #[inline(always)]
    pub(super) fn push(&mut self, frame: Frame) {
        if !self.has_room() {
            self.grow();
        }
        let free = std::mem::replace(&mut self.places[self.height], frame);
        debug_assert!(matches!(free, Frame::Free));
        std::mem::forget(free);
        self.height += 1;
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let length = self.next_length();
        self.places.reserve_exact(length - self.places.len());
        self.places.resize_with(length, Frame::default);
    }

    fn next_length(&self) -> usize {
        (2 * self.places.len()).max(4)
    }

    /// Bytes more that the next push takes.
    #[inline]
    pub(super) fn growth(&self) -> usize {
        if self.has_room() { 0 } else { (self.next_length() - self.places.len()) * size_of::<Frame>() }
    }

    /// Takes the frame on top.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<Frame> {
        self.height = self.height.checked_sub(1)?;
        Some(std::mem::take(&mut self.places[self.height]))
    }

    /// The frame on top.
    #[inline(always)]
    pub(super) fn last_mut(&mut self) -> Option<&mut Frame> {
        self.places.get_mut(self.height.wrapping_sub(1))
    }

    /// Puts `running` on top, to be gone on with at `pc`, and makes it the frame of the first body of `callee` at `base`.
    ///
    /// Field by field, here and in [`leave_into`](Frames::leave_into): a copy of a whole frame would wait for the stores
    /// that made its parts.
    ///
    /// # Panics
    /// If there is no [room](Frames::has_room).
    #[inline(always)]
    pub(super) fn enter(&mut self, running: &mut CodeFrame, pc: u32, callee: Rc<Closure>, base: u32) {
        let place = &mut self.places[self.height];
        let closure = std::mem::replace(&mut running.closure, callee);
        let caller = CodeFrame { closure, body: running.body, pc, base: running.base };
        std::mem::forget(std::mem::replace(place, Frame::Code(caller)));
        self.height += 1;
        (running.body, running.pc, running.base) = (BodyIndex::First, 0, base);
    }

    /// Puts the code frame on top, if there is one, into the place of `running`, which is dropped.
    #[inline(always)]
    pub(super) fn leave_into(&mut self, running: &mut CodeFrame) -> bool {
        let top = self.height.wrapping_sub(1);
        let Some(place @ Frame::Code(_)) = self.places.get_mut(top) else { return false };
        let Frame::Code(caller) = std::mem::take(place) else { return false };
        (running.body, running.pc, running.base) = (caller.body, caller.pc, caller.base);
        running.closure = caller.closure;
        self.height = top;
        true
    }

    /// All frames, the one on top first.
    pub(super) fn downwards(&self) -> impl Iterator<Item = &Frame> {
        self.places[..self.height].iter().rev()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_takes_three_words() {
        assert_eq!(size_of::<Frame>(), 24);
    }
}
