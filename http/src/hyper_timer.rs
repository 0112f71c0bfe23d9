//! Timers of HTTP connections.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::rt::{Sleep as HyperSleep, Timer};

use ptc_base::time::{self, Instant, Sleep};

/// Has connections of hyper go by the clock of the thread that polls them.
#[derive(Clone, Copy, Debug, Default)]
pub struct HyperTimer;

impl Timer for HyperTimer {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn HyperSleep>> {
        Box::pin(Wait { sleep: time::sleep(duration) })
    }

    fn sleep_until(&self, deadline: std::time::Instant) -> Pin<Box<dyn HyperSleep>> {
        Box::pin(Wait { sleep: time::sleep_until(Instant::from_std(deadline)) })
    }

    fn now(&self) -> std::time::Instant {
        time::now().into_std()
    }

    fn reset(&self, sleep: &mut Pin<Box<dyn HyperSleep>>, deadline: std::time::Instant) {
        match sleep.as_mut().downcast_mut_pin::<Wait>() {
            Some(wait) => wait.project().sleep.reset(Instant::from_std(deadline)),
            None => *sleep = self.sleep_until(deadline),
        }
    }
}

pin_project_lite::pin_project! {
    struct Wait {
        #[pin]
        sleep: Sleep,
    }
}

impl HyperSleep for Wait {}

impl Future for Wait {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.project().sleep.poll(cx)
    }
}
