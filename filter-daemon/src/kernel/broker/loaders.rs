//! aya's loaders, kept for reuse. A new one reads all types of the kernel (5 MB) before it can be told to ignore
//! them. That takes some 100 ms, several times as long as loading a judge, and the owner would wait for it.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use aya::{EbpfLoader, VerifierLogLevel};

/// Loaders that nobody uses now.
static FREE: Mutex<Vec<EbpfLoader<'static>>> = Mutex::new(Vec::new());

/// The number to keep: one for a program that is needed now, one for a judge that is loaded in the background.
const KEPT: usize = 2;

/// Makes loaders in the background, because the first will be needed soon.
pub fn begin() {
    let make = || {
        while free().len() < KEPT {
            put_back(typeless());
        }
    };
    // Without a thread, whoever needs a loader makes it.
    _ = thread::Builder::new().name("loaders".to_owned()).spawn(make);
}

/// Calls `load` with a free loader, or with a new one if there is none. The only thing that stays in a loader is
/// the place of a pin. Every object that has a map of that name sets its own place.
pub fn with<T>(load: impl FnOnce(&mut EbpfLoader<'static>) -> T) -> T {
    let free = free().pop();
    let mut loader = free.unwrap_or_else(typeless);
    loader.verifier_log_level(VerifierLogLevel::default());
    let loaded = load(&mut loader);
    put_back(loader);
    loaded
}

fn put_back(loader: EbpfLoader<'static>) {
    let mut free = free();
    if free.len() < KEPT {
        free.push(loader);
    }
}

fn free() -> MutexGuard<'static, Vec<EbpfLoader<'static>>> {
    FREE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn typeless() -> EbpfLoader<'static> {
    let mut loader = EbpfLoader::new();
    loader.btf(None);
    loader
}
