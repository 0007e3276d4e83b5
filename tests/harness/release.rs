//! Which Linux this is.

use std::fs;

/// Does it load judges that count for lists? Linux 6.1 does not: its verifier loses sight of what 32-bit sums are made of.
pub fn counts_for_lists() -> bool {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").expect("the kernel tells its release");
    let mut numbers = release.split('.').map_while(|number| number.parse::<u32>().ok());
    let is_new = (numbers.next(), numbers.next()) >= (Some(6), Some(12));
    if !is_new {
        println!("Linux {} loads no judge that counts for lists: left out", release.trim());
    }
    is_new
}
