//! The frames of a fiber below the one that runs.

use super::fiber::{BodyIndex, CodeFrame, NativeCall};
use crate::value::Closure;
use std::rc::Rc;

/// One level of the call stack.
pub(super) enum Frame {
    /// Code, or a place without a frame.
    Code(SuspendedFrame),
    /// A builtin that waits for a call.
    Native(NativeCall),
}

/// A [`CodeFrame`] that waits. Its closure can be taken out of it, so that a call and a return move the fields of a frame
/// one by one: a copy of a whole frame would wait for the stores that made its parts.
pub(super) struct SuspendedFrame {
    /// `None` in a place without a frame.
    closure: Option<Rc<Closure>>,
    body: BodyIndex,
    pc: u32,
    base: u32,
}

impl SuspendedFrame {
    fn new(frame: CodeFrame) -> SuspendedFrame {
        let CodeFrame { closure, body, pc, base } = frame;
        SuspendedFrame { closure: Some(closure), body, pc, base }
    }

    /// The frame, to be looked at.
    pub(super) fn frame(&self) -> Option<CodeFrame> {
        let (closure, body, pc, base) = (self.closure.clone()?, self.body, self.pc, self.base);
        Some(CodeFrame { closure, body, pc, base })
    }
}

impl Default for Frame {
    /// A place without a frame.
    fn default() -> Frame {
        Frame::Code(SuspendedFrame { closure: None, body: BodyIndex::First, pc: 0, base: 0 })
    }
}

impl Frame {
    /// Whether this is a place without a frame.
    fn is_free(&self) -> bool {
        matches!(self, Frame::Code(SuspendedFrame { closure: None, .. }))
    }

    /// Puts `running` into this free place, to be gone on with at `pc`, and makes it the frame of the first body of
    /// `callee` at `base`.
    #[inline(always)]
    pub(super) fn enter(&mut self, running: &mut CodeFrame, pc: u32, callee: Rc<Closure>, base: u32) {
        let closure = Some(std::mem::replace(&mut running.closure, callee));
        let caller = SuspendedFrame { closure, body: running.body, pc, base: running.base };
        let free = std::mem::replace(self, Frame::Code(caller));
        debug_assert!(free.is_free());
        std::mem::forget(free);
        (running.body, running.pc, running.base) = (BodyIndex::First, 0, base);
    }
}

/// A stack of frames. As the [value stack](super::Stack) it is kept longer than it is high, so that a call writes its
/// frame into a place that is there and a return takes it from there.
#[derive(Default)]
pub(super) struct CallStack {
    places: Vec<Frame>,
    height: usize,
}

impl CallStack {
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
        debug_assert!(free.is_free());
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

    /// As [`push`](CallStack::push) of a frame of code.
    #[inline]
    pub(super) fn push_code(&mut self, frame: CodeFrame) {
        self.push(Frame::Code(SuspendedFrame::new(frame)));
    }

    /// Takes the frame on top, if it is one of code.
    #[inline]
    pub(super) fn pop_code(&mut self) -> Option<CodeFrame> {
        let top = self.height.wrapping_sub(1);
        let Some(Frame::Code(SuspendedFrame { closure, body, pc, base })) = self.places.get_mut(top) else {
            return None;
        };
        let frame = CodeFrame { closure: closure.take()?, body: *body, pc: *pc, base: *base };
        self.height = top;
        Some(frame)
    }

    /// The place above the top, if there is [room](CallStack::has_room); [`raise`](CallStack::raise) makes it the top.
    #[inline(always)]
    pub(super) fn free(&mut self) -> Option<&mut Frame> {
        self.places.get_mut(self.height)
    }

    /// Makes the frame that has been put into the [free](CallStack::free) place the top.
    #[inline(always)]
    pub(super) fn raise(&mut self) {
        self.height += 1;
    }

    /// Puts the code frame on top, if there is one, into the place of `running`, which is dropped.
    #[inline(always)]
    pub(super) fn leave_into(&mut self, running: &mut CodeFrame) -> bool {
        let top = self.height.wrapping_sub(1);
        let Some(Frame::Code(caller)) = self.places.get_mut(top) else { return false };
        let Some(closure) = caller.closure.take() else { return false };
        (running.body, running.pc, running.base) = (caller.body, caller.pc, caller.base);
        self.height = top;
        running.closure = closure;
        true
    }

    /// How many frames there are.
    pub(super) fn height(&self) -> usize {
        self.height
    }

    /// Makes it at least `len` long, and no longer than that.
    pub(super) fn grow_to(&mut self, len: usize) {
        if len > self.places.len() {
            self.places.reserve_exact(len - self.places.len());
            self.places.resize_with(len, Frame::default);
        }
    }

    /// All frames, the lowest first.
    pub(super) fn upwards(&self) -> impl Iterator<Item = &Frame> {
        self.places[..self.height].iter()
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
