//! The only reader of clocks. Whoever else needs the time is told it, so that nearly everything can be tried at any time.
//!
//! A process has a time of its own: what the clock on the wall said when the process first asked, and from then on the time
//! since boot, which goes on in suspend and which nobody can set. Deadlines are in it, so that a clock that is set moves
//! none of them. What people are shown, and what travels to other processes, is turned into the time on the wall as it is
//! at that moment ([`on_the_wall`]).

mod moment;

use std::fs;
use std::sync::OnceLock;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rustix::time::{ClockId, clock_gettime};

use crate::blocklist::Timestamp;
pub use moment::{Boot, Moment, Shift};

/// What a namespace of time adds to the clocks of those in it.
const OFFSETS: &str = "/proc/self/timens_offsets";

/// What tells one boot from another.
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// What our own time is ahead of the time since boot, in milliseconds: fixed when somebody first asks, and so no state.
static OFFSET: OnceLock<i64> = OnceLock::new();

/// This very second.
pub fn now() -> Timestamp {
    Timestamp::begun(own())
}

/// This very moment, for other processes.
pub fn moment() -> Moment {
    static BOOT: OnceLock<Boot> = OnceLock::new();
    static BEGUN: OnceLock<Timestamp> = OnceLock::new();
    Moment {
        boot: *BOOT.get_or_init(boot),
        offset: own_offset(),
        begun: *BEGUN.get_or_init(now),
        own: now(),
        wall: Timestamp::begun(since_1970()),
    }
}

/// The first full second at which `ttl` is over for something that begins now.
pub fn after(ttl: Duration) -> Timestamp {
    Timestamp::complete(own() + ttl)
}

/// How long it is until then; nothing if it is over.
pub fn until(then: Timestamp) -> Duration {
    Duration::from_secs(then.secs()).saturating_sub(own())
}

/// The second in which that was.
pub fn then(then: Instant) -> Timestamp {
    Timestamp::begun(own().saturating_sub(then.elapsed()))
}

/// What the clock on the wall says then, as it goes now: what people are told, and other processes.
pub fn on_the_wall(then: Timestamp) -> u64 {
    then.later_by(seconds(offset() - own_offset())).secs()
}

/// When the clock on the wall, as it goes now, says so.
pub fn from_the_wall(then: u64) -> Timestamp {
    Timestamp::begun(Duration::from_secs(then)).later_by(-seconds(offset() - own_offset()))
}

/// To measure how long something takes, whatever is done to the clock meanwhile.
pub fn instant() -> Instant {
    Instant::now()
}

/// What the clock on the wall is ahead of the time since boot, in milliseconds. Only setting it changes that: where a clock
/// is made to run faster or slower, both do.
pub fn offset() -> i64 {
    i64::try_from(since_1970().as_millis()).unwrap_or(i64::MAX).saturating_sub(milliseconds(since_boot()))
}

/// What our own time is ahead of the time since boot, in milliseconds.
pub fn own_offset() -> i64 {
    *OFFSET.get_or_init(offset)
}

/// Whole seconds, to the nearest.
pub fn seconds(milliseconds: i64) -> i64 {
    milliseconds.saturating_add(500).div_euclid(1000)
}

/// How long this machine has been up, as every process on it sees it: for a moment that two of them agree on.
pub fn uptime() -> Duration {
    clock_gettime(ClockId::Monotonic).try_into().unwrap_or_default()
}

/// How long this machine has slept since it booted; in a namespace of time, more or less by what that shifts.
pub fn asleep() -> Duration {
    since_boot().saturating_sub(uptime())
}

/// When that is by the clock that programs in the kernel read: nanoseconds since boot, suspend included.
pub fn in_the_kernel(then: Timestamp) -> u64 {
    let own = i128::from(then.secs()) * 1_000_000_000;
    let ahead = i128::from(own_offset()) * 1_000_000 + namespace_offset();
    u64::try_from((own - ahead).max(0)).unwrap_or(u64::MAX)
}

/// What that clock says now.
pub fn kernel_now() -> u64 {
    let now = i128::try_from(since_boot().as_nanos()).unwrap_or(i128::MAX);
    u64::try_from((now - namespace_offset()).max(0)).unwrap_or(u64::MAX)
}

/// The time of the programs that remember flows: nanoseconds since boot without suspend, as of the last tick.
pub fn at_last_tick() -> u64 {
    let now = Duration::try_from(clock_gettime(ClockId::MonotonicCoarse)).unwrap_or_default();
    u64::try_from(now.as_nanos()).unwrap_or(u64::MAX)
}

/// How long it is since 1970 began, by the clock on the wall. A clock that is before stands at its beginning.
pub fn since_1970() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// The same in our own time.
fn own() -> Duration {
    let offset = own_offset();
    let part = Duration::from_millis(offset.unsigned_abs());
    if offset < 0 { since_boot().saturating_sub(part) } else { since_boot() + part }
}

fn since_boot() -> Duration {
    clock_gettime(ClockId::Boottime).try_into().unwrap_or_default()
}

fn milliseconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

/// What the time since boot is ahead here of what it is in the kernel, in nanoseconds: a process does not change its
/// namespace of time. Kernels without such namespaces shift nothing.
fn namespace_offset() -> i128 {
    static OFFSET: OnceLock<i128> = OnceLock::new();
    *OFFSET.get_or_init(|| shifted(&fs::read_to_string(OFFSETS).unwrap_or_default()).unwrap_or(0))
}

fn shifted(offsets: &str) -> Option<i128> {
    let boottime = offsets.lines().find_map(|line| line.strip_prefix("boottime"))?;
    let mut numbers = boottime.split_whitespace().map(str::parse::<i128>);
    let (seconds, nanoseconds) = (numbers.next()?.ok()?, numbers.next()?.ok()?);
    Some(seconds * 1_000_000_000 + nanoseconds)
}

/// Where the kernel does not say it, it is not known.
fn boot() -> Boot {
    let said = fs::read_to_string(BOOT_ID).unwrap_or_default();
    let digits: String = said.chars().filter(char::is_ascii_hexdigit).collect();
    u128::from_str_radix(&digits, 16).map_or(Boot::default(), |id| Boot(id.to_be_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ttl_is_never_cut_short_and_never_a_second_too_long() {
        let ttl = Duration::from_secs(7200);
        let before = own() + ttl;
        let end = Duration::from_secs(after(ttl).secs());
        assert!(end >= before && end < own() + ttl + Duration::from_secs(1));
        assert!(until(after(ttl)) >= ttl - Duration::from_secs(1));
        assert_eq!(until(Timestamp::from_secs(0)), Duration::ZERO);
    }

    #[test]
    fn while_nobody_sets_the_clock_our_own_time_is_that_on_the_wall() {
        let told = on_the_wall(now());
        assert!(since_1970().as_secs().abs_diff(told) <= 1, "{told}");
        let Moment { own, wall, begun, .. } = moment();
        assert!(own.secs().abs_diff(wall.secs()) <= 1 && begun <= own);
    }

    #[test]
    fn a_moment_of_ours_is_one_of_the_kernels() {
        let (before, now) = (now(), kernel_now());
        assert!(in_the_kernel(before) <= now && now < in_the_kernel(after(Duration::from_secs(1))));
        assert_eq!(in_the_kernel(Timestamp::from_secs(0)), 0);
    }

    #[test]
    fn what_a_namespace_of_time_adds_is_read_where_it_is_told() {
        let told = "monotonic          10         0\nboottime         -3600       500\n";
        assert_eq!(shifted(told), Some(-3600 * 1_000_000_000 + 500));
        assert_eq!((shifted("monotonic 1 0\n"), shifted("boottime soon\n"), shifted("")), (None, None, None));
    }

    #[test]
    fn a_boot_has_a_name() {
        assert!(boot().is_known(), "{BOOT_ID} says which it is");
        assert_eq!(boot(), boot());
    }

    #[test]
    fn milliseconds_are_rounded_to_the_nearest_second() {
        let rounded = [-1501, -1500, -500, -1, 0, 499, 500, 1499].map(seconds);
        assert_eq!(rounded, [-2, -1, 0, 0, 0, 0, 1, 1]);
    }
}
