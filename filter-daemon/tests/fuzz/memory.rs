//! How much memory a thread holds at most while it does something: an allocator that counts.
//!
//! One of the unsafe rooms: an allocator cannot be had otherwise. It hands everything on to the system's.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

#[global_allocator]
static COUNTING: Counting = Counting;

struct Counting;

thread_local! {
    static HELD: Cell<usize> = const { Cell::new(0) };
    static MOST: Cell<usize> = const { Cell::new(0) };
}

/// Does it, and tells the most bytes that this thread held meanwhile beyond what it held before.
pub fn most_held<T>(act: impl FnOnce() -> T) -> (T, usize) {
    let before = HELD.get();
    MOST.set(before);
    let done = act();
    (done, MOST.get().saturating_sub(before))
}

fn taken(bytes: usize) {
    let held = HELD.get().saturating_add(bytes);
    HELD.set(held);
    MOST.set(MOST.get().max(held));
}

fn given_back(bytes: usize) {
    HELD.set(HELD.get().saturating_sub(bytes));
}

// SAFETY: every call is handed on to the system's allocator as it came; beside it only numbers of this thread are changed,
// which have no destructor and take no memory.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        taken(layout.size());
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        taken(layout.size());
        // SAFETY: as the caller promises.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        given_back(layout.size());
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // The system may have to hold both for a moment.
        taken(size);
        given_back(layout.size());
        // SAFETY: as the caller promises.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[test]
fn short_lived_memory_counts() {
    let ((), most) = most_held(|| drop(vec![0u8; 1 << 20]));
    assert!((1 << 20..1 << 21).contains(&most), "{most}");
    let ((), most) = most_held(|| {});
    assert_eq!(most, 0);
}
