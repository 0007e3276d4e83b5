//! The only module that reads clocks. Other code gets the time as a value, so that tests can choose it.
//!
//! A process has its own time. It starts with the wall clock at the first use, and continues with the time
//! since boot, which includes suspend and cannot be set. Deadlines use it, so that setting the clock moves
//! none of them. Times for people and for other processes are converted to the current wall clock
//! ([`on_the_wall`]).

mod moment;

use std::fs;
use std::sync::OnceLock;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rustix::time::{ClockId, clock_gettime};

use crate::blocklist::Timestamp;
pub use moment::{Boot, Moment, Shift};

/// The offsets that a time namespace adds to the clocks of its processes.
const OFFSETS: &str = "/proc/self/timens_offsets";

/// The ID of the current boot.
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// How far the process time is ahead of the time since boot, in milliseconds. It is set at the first use
/// and never changes.
static OFFSET: OnceLock<i64> = OnceLock::new();

/// The current second in process time.
pub fn now() -> Timestamp {
    Timestamp::begun(own())
}

/// The current moment, for other processes.
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

/// The first full second at which `ttl` has passed from now on.
pub fn after(ttl: Duration) -> Timestamp {
    Timestamp::complete(own() + ttl)
}

/// The time until then; zero if it has passed.
pub fn until(then: Timestamp) -> Duration {
    Duration::from_secs(then.secs()).saturating_sub(own())
}

/// The second of this instant.
pub fn then(then: Instant) -> Timestamp {
    Timestamp::begun(own().saturating_sub(then.elapsed()))
}

/// Converts a time to the current wall clock, for people and other processes.
pub fn on_the_wall(then: Timestamp) -> u64 {
    then.later_by(seconds(offset() - own_offset())).secs()
}

/// Converts a time of the current wall clock to process time.
pub fn from_the_wall(then: u64) -> Timestamp {
    Timestamp::begun(Duration::from_secs(then)).later_by(-seconds(offset() - own_offset()))
}

/// An instant to measure durations, which setting the clock does not affect.
pub fn instant() -> Instant {
    Instant::now()
}

/// How far the wall clock is ahead of the time since boot, in milliseconds. Only setting the clock changes
/// it: rate adjustments affect both clocks.
pub fn offset() -> i64 {
    i64::try_from(since_1970().as_millis()).unwrap_or(i64::MAX).saturating_sub(milliseconds(since_boot()))
}

/// How far the process time is ahead of the time since boot, in milliseconds.
pub fn own_offset() -> i64 {
    *OFFSET.get_or_init(offset)
}

/// Rounds to the nearest second.
pub fn seconds(milliseconds: i64) -> i64 {
    milliseconds.saturating_add(500).div_euclid(1000)
}

/// The uptime of the machine without suspend, which all processes see alike. Two processes can agree on a
/// moment by it.
pub fn uptime() -> Duration {
    clock_gettime(ClockId::Monotonic).try_into().unwrap_or_default()
}

/// How long the machine has been suspended since boot; a time namespace may shift this.
pub fn asleep() -> Duration {
    since_boot().saturating_sub(uptime())
}

/// Converts a time to the clock of BPF programs: nanoseconds since boot, suspend included.
pub fn in_the_kernel(then: Timestamp) -> u64 {
    let own = i128::from(then.secs()) * 1_000_000_000;
    let ahead = i128::from(own_offset()) * 1_000_000 + namespace_offset();
    u64::try_from((own - ahead).max(0)).unwrap_or(u64::MAX)
}

/// The current time of that clock.
pub fn kernel_now() -> u64 {
    let now = i128::try_from(since_boot().as_nanos()).unwrap_or(i128::MAX);
    u64::try_from((now - namespace_offset()).max(0)).unwrap_or(u64::MAX)
}

/// The clock of the programs that track flows: nanoseconds since boot without suspend, at the last tick.
pub fn at_last_tick() -> u64 {
    let now = Duration::try_from(clock_gettime(ClockId::MonotonicCoarse)).unwrap_or_default();
    u64::try_from(now.as_nanos()).unwrap_or(u64::MAX)
}

/// The wall clock as time since 1970; zero for a clock before 1970.
pub fn since_1970() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// The current time of this process.
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

/// How far the time since boot in this namespace is ahead of the kernel's, in nanoseconds. A process does
/// not change its time namespace. Kernels without time namespaces have no offset.
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

/// The ID of this boot; unknown if the kernel does not report it.
fn boot() -> Boot {
    let said = fs::read_to_string(BOOT_ID).unwrap_or_default();
    let digits: String = said.chars().filter(char::is_ascii_hexdigit).collect();
    u128::from_str_radix(&digits, 16).map_or(Boot::default(), |id| Boot(id.to_be_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ttl_is_exact_to_the_second() {
        let ttl = Duration::from_secs(7200);
        let before = own() + ttl;
        let end = Duration::from_secs(after(ttl).secs());
        assert!(end >= before && end < own() + ttl + Duration::from_secs(1));
        assert!(until(after(ttl)) >= ttl - Duration::from_secs(1));
        assert_eq!(until(Timestamp::from_secs(0)), Duration::ZERO);
    }

    #[test]
    fn process_time_follows_an_unset_clock() {
        let told = on_the_wall(now());
        assert!(since_1970().as_secs().abs_diff(told) <= 1, "{told}");
        let Moment { own, wall, begun, .. } = moment();
        assert!(own.secs().abs_diff(wall.secs()) <= 1 && begun <= own);
    }

    #[test]
    fn process_time_converts_to_kernel_time() {
        let (before, now) = (now(), kernel_now());
        assert!(in_the_kernel(before) <= now && now < in_the_kernel(after(Duration::from_secs(1))));
        assert_eq!(in_the_kernel(Timestamp::from_secs(0)), 0);
    }

    #[test]
    fn time_namespace_offset_is_parsed() {
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
