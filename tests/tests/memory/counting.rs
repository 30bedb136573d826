//! An allocator that counts what each thread does, so that tests beside each other do not count each other's.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct Counting;

#[global_allocator]
static COUNTING: Counting = Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
    static BYTES: Cell<i64> = const { Cell::new(0) };
}

/// What a thread did since it began.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Count {
    /// How often memory was asked for, or asked for to grow or to shrink.
    pub(crate) allocations: u64,
    /// How much is held; less than nothing if what others asked for was let go of.
    pub(crate) bytes: i64,
}

/// What `work` did more, and what it gives.
pub(crate) fn count<T>(work: impl FnOnce() -> T) -> (Count, T) {
    let (allocations, bytes) = (ALLOCATIONS.get(), BYTES.get());
    let result = work();
    (Count { allocations: ALLOCATIONS.get() - allocations, bytes: BYTES.get() - bytes }, result)
}

fn note(allocations: u64, more: usize, less: usize) {
    ALLOCATIONS.set(ALLOCATIONS.get() + allocations);
    BYTES.set(BYTES.get() + more as i64 - less as i64);
}

// SAFETY: every method does what the system's allocator does; the counters beside it neither allocate nor fail.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(1, layout.size(), 0);
        // SAFETY: the caller keeps the contract, which is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note(1, layout.size(), 0);
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note(1, size, layout.size());
        // SAFETY: as above.
        unsafe { System.realloc(block, layout, size) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        note(0, 0, layout.size());
        // SAFETY: as above.
        unsafe { System.dealloc(block, layout) }
    }
}

#[test]
fn what_is_held_and_what_is_let_go_of_is_counted() {
    let (count, mut bytes) = count(|| Vec::<u8>::with_capacity(100));
    assert_eq!((count.allocations, count.bytes), (1, 100));
    let (count, ()) = self::count(|| bytes.reserve_exact(1000));
    assert_eq!((count.allocations, count.bytes), (1, 900));
    let (count, ()) = self::count(|| drop(bytes));
    assert_eq!((count.allocations, count.bytes), (0, -1000));
    let (count, _) = self::count(|| vec![0_u8; 10]);
    assert_eq!((count.allocations, count.bytes), (1, 10));
}
