//! A reload reserves capacity for new entries only.

use super::*;

const MANY: u64 = 20_000;

/// This many /64s from this number on.
fn nets(from: u64, count: u64) -> Targets {
    Targets { nets64: (from..from + count).map(|net| net << 20).collect(), ..Targets::default() }
}

fn blocking(block: Targets) -> Loaded {
    Loaded { block, ..loaded(&[], &[], true) }
}

impl World {
    async fn add(&mut self, nets: Targets) {
        self.ask(Change::Want(Want::live("manual", Polarity::Block, nets))).await;
        for _ in 0..ENDLESS {
            if self.jobs.is_empty() {
                return;
            }
            self.settle().await;
        }
        panic!("it adds on and on");
    }

    /// The capacity and the number of IPv6 prefixes.
    fn room(&self) -> (u64, u64) {
        let owner = self.owner();
        let table = owner.core.protection.filter().six();
        (table.capacity, table.entries)
    }
}

#[tokio::test]
async fn existing_targets_need_no_new_room() {
    let mut world = World::new();
    world.add(nets(0, MANY)).await;
    let before = world.room();
    assert!((MANY..2 * MANY).contains(&before.0), "there is no room for all of them twice: {before:?}");
    world.reload(blocking(nets(0, MANY)), async |_, _| {}).await;
    assert_eq!(world.room(), before);
    world.reload(blocking(nets(MANY / 2, MANY)), async |_, _| {}).await;
    let (capacity, entries) = world.room();
    assert_eq!(entries, MANY * 3 / 2);
    assert!(capacity < 2 * MANY, "half of what came was there: {capacity}");
}

/// Too few entries existed before to matter. They are not examined one by one, and the capacity is little
/// more than required.
#[tokio::test]
async fn long_list_gets_little_spare_room() {
    let mut world = World::new();
    world.add(nets(0, 100)).await;
    world.reload(blocking(nets(50, MANY)), async |_, _| {}).await;
    let (capacity, entries) = world.room();
    assert_eq!(entries, MANY + 50);
    assert!(capacity < MANY + MANY / 16, "{capacity}");
}
