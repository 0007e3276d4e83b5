//! What a command takes: by the clock, and of processors, which is nearly the same beside other work.

use std::fmt;
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::{TimeVal, TimeValLike};

/// What was taken.
pub struct Cost {
    clock: Duration,
    processors: Duration,
}

impl Cost {
    /// Of what this does by programs that it starts and waits for.
    pub fn of<T>(does: impl FnOnce() -> T) -> (T, Self) {
        let (begun, before) = (Instant::now(), taken());
        let done = does();
        (done, Self { clock: begun.elapsed(), processors: taken().saturating_sub(before) })
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (clock, processors) = (self.clock.as_secs_f32(), self.processors.as_secs_f32());
        write!(f, "{clock:.0} s, {processors:.0} s of processors")
    }
}

/// By all programs that we started and that have ended.
fn taken() -> Duration {
    getrusage(UsageWho::RUSAGE_CHILDREN)
        .map_or(Duration::ZERO, |usage| duration(usage.user_time()) + duration(usage.system_time()))
}

fn duration(time: TimeVal) -> Duration {
    Duration::from_micros(time.num_microseconds().unsigned_abs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn cpu_time_of_a_program_is_counted() {
        let busy = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done";
        let (done, cost) = Cost::of(|| Command::new("sh").args(["-c", busy]).status());
        assert!(done.unwrap().success());
        assert!(cost.processors > Duration::ZERO);
    }
}
