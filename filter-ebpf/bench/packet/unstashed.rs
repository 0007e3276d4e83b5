//! Tables whose stash of IPv4 addresses is never asked, so that nothing of it is left in the program.

use filter_common::Words;
use filter_common::settings::Setting;
use filter_common::verdict::Tables;

/// The same tables without it.
pub struct Unstashed<T>(pub T);

impl<T: Tables> Tables for Unstashed<T> {
    #[inline(always)]
    fn setting(&self, setting: Setting) -> u64 {
        self.0.setting(setting)
    }

    #[inline(always)]
    fn small_setting(&self, setting: Setting) -> u32 {
        self.0.small_setting(setting)
    }

    #[inline(always)]
    fn addresses(&self) -> Option<impl Words> {
        self.0.addresses().map(Buckets)
    }

    #[inline(always)]
    fn networks(&self) -> Option<impl Words> {
        self.0.networks()
    }

    #[inline(always)]
    fn six(&self) -> Option<impl Words> {
        self.0.six()
    }
}

/// Words that begin with an empty stash, whatever stands there.
struct Buckets<W>(W);

impl<W: Words> Words for Buckets<W> {
    #[inline(always)]
    fn load(&self, _index: u32) -> u64 {
        0
    }

    #[inline(always)]
    fn rest(&self, first: u32) -> impl Words {
        self.0.rest(first)
    }
}
