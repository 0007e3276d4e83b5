//! A timer on the clock of deadlines, which is the time since boot and includes suspends. Entries whose
//! deadline passed during a suspend expire on resume. A timer of the runtime would stand still meanwhile.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};
use tokio::io::unix::AsyncFd;

/// One timer, which each wait sets again.
pub struct Alarm {
    timer: AsyncFd<OwnedFd>,
}

impl Alarm {
    /// Creates a timer that is not set.
    pub fn new() -> io::Result<Self> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let timer = timerfd_create(TimerfdClockId::Boottime, flags)?;
        #[expect(
            deprecated,
            reason = "its successor is unsafe for types that may lie about what they own; this one cannot"
        )]
        let timer = AsyncFd::new(timer)?;
        Ok(Self { timer })
    }

    /// Waits for this long. If several waits overlap, only the last one counts.
    pub async fn wait(&self, long: Duration) {
        // A value of zero would disarm the timer.
        let long = long.max(Duration::from_nanos(1));
        let value = Timespec { tv_sec: long.as_secs() as i64, tv_nsec: long.subsec_nanos().into() };
        let once = Itimerspec { it_interval: Timespec::default(), it_value: value };
        if timerfd_settime(self.timer.get_ref(), TimerfdTimerFlags::empty(), &once).is_err() {
            return tokio::time::sleep(long).await;
        }
        // The timer becomes readable when it expires. The failed read before that clears readiness that an
        // earlier wait left.
        while let Ok(mut rings) = self.timer.readable().await {
            let rang = rings.try_io(|timer| Ok(rustix::io::read(timer.get_ref(), &mut [0; 8])?));
            if rang.is_ok() {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[tokio::test]
    async fn alarm_waits_exactly_long_enough() {
        let (alarm, begun) = (Alarm::new().unwrap(), Instant::now());
        alarm.wait(Duration::ZERO).await;
        alarm.wait(Duration::from_millis(20)).await;
        assert!(begun.elapsed() >= Duration::from_millis(20));
    }

    #[tokio::test]
    async fn cancelled_wait_does_not_end_later_ones() {
        let (alarm, begun) = (Alarm::new().unwrap(), Instant::now());
        let given_up = tokio::time::timeout(Duration::from_millis(5), alarm.wait(Duration::from_millis(1)));
        assert!(given_up.await.is_ok());
        tokio::select! {
            biased;
            () = alarm.wait(Duration::from_millis(5)) => panic!("somebody else comes first"),
            () = std::future::ready(()) => {}
        }
        std::thread::sleep(Duration::from_millis(10));
        alarm.wait(Duration::from_millis(30)).await;
        assert!(begun.elapsed() >= Duration::from_millis(40));
    }
}
