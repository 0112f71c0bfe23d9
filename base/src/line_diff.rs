//! What differs between two lists of lines.

/// A step from one list of lines to another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineStep {
    /// The next line of both.
    Same,
    /// The next line of the old one, which the new one does not have.
    Removed,
    /// The next line of the new one, which the old one does not have.
    Added,
}

/// The steps from `old` to `new` through the longest common lines. If more than `most_pairs` pairs of lines would have to be compared,
/// what lies between the same lines at the start and at the end is removed and added whole.
#[must_use]
pub fn line_steps<T: PartialEq>(old: &[T], new: &[T], most_pairs: usize) -> Vec<LineStep> {
    let same_at_start = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    let (old, new) = (&old[same_at_start..], &new[same_at_start..]);
    let same_at_end = old.iter().rev().zip(new.iter().rev()).take_while(|(old, new)| old == new).count();
    let (old, new) = (&old[..old.len() - same_at_end], &new[..new.len() - same_at_end]);
    let mut steps = vec![LineStep::Same; same_at_start];
    if old.len().saturating_mul(new.len()) > most_pairs {
        steps.extend(old.iter().map(|_| LineStep::Removed).chain(new.iter().map(|_| LineStep::Added)));
    } else {
        push_changed(&mut steps, old, new);
    }
    steps.resize(steps.len() + same_at_end, LineStep::Same);
    steps
}

fn push_changed<T: PartialEq>(steps: &mut Vec<LineStep>, old: &[T], new: &[T]) {
    // The length of the longest common part of what follows each pair of places.
    let width = new.len() + 1;
    let mut common = vec![0_u32; (old.len() + 1) * width];
    for at_old in (0..old.len()).rev() {
        for at_new in (0..new.len()).rev() {
            common[at_old * width + at_new] = match old[at_old] == new[at_new] {
                true => common[(at_old + 1) * width + at_new + 1] + 1,
                false => common[(at_old + 1) * width + at_new].max(common[at_old * width + at_new + 1]),
            };
        }
    }
    let (mut at_old, mut at_new) = (0, 0);
    while at_old < old.len() && at_new < new.len() {
        let step = if old[at_old] == new[at_new] {
            LineStep::Same
        } else if common[(at_old + 1) * width + at_new] >= common[at_old * width + at_new + 1] {
            LineStep::Removed
        } else {
            LineStep::Added
        };
        at_old += usize::from(step != LineStep::Added);
        at_new += usize::from(step != LineStep::Removed);
        steps.push(step);
    }
    steps.extend(old[at_old..].iter().map(|_| LineStep::Removed));
    steps.extend(new[at_new..].iter().map(|_| LineStep::Added));
}
