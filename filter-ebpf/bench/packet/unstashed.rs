//! Tables whose stash of IPv4 addresses is never asked, so that nothing of it is left in the program.

use filter_common::Words;
use filter_common::judge::Tables;
use filter_common::reason::Enforcement;
use filter_common::set::Set;
use filter_common::settings::SetSettings;

/// The same tables, or the same set, without it.
pub struct Unstashed<T>(pub T);

impl<T: Tables> Tables for Unstashed<T> {
    #[inline(always)]
    fn enforcement(&self) -> Enforcement {
        self.0.enforcement()
    }

    #[inline(always)]
    fn block(&self) -> impl Set {
        Unstashed(self.0.block())
    }

    #[inline(always)]
    fn allow(&self) -> impl Set {
        self.0.allow()
    }

    #[inline(always)]
    fn may_overlap(&self) -> bool {
        self.0.may_overlap()
    }
}

impl<S: Set> Set for Unstashed<S> {
    #[inline(always)]
    fn setting(&self, of: impl Fn(&SetSettings) -> &u64) -> u64 {
        self.0.setting(of)
    }

    #[inline(always)]
    fn small_setting(&self, of: impl Fn(&SetSettings) -> &u64) -> u32 {
        self.0.small_setting(of)
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
    fn levels(&self) -> Option<impl Words> {
        self.0.levels()
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
