//! The maps in which a judge counts, and its decisions on the tables ([`tables`](crate::tables)).
#![allow(unsafe_code, reason = "counters and maps are reached through raw pointers")]

use core::ffi::c_void;

use aya_ebpf::helpers::generated::bpf_get_smp_processor_id;
use filter_common::Words;
use filter_common::counters;
use filter_common::cuckoo::six::{Fingerprint, Kind};
use filter_common::flow::{self, Key};
use filter_common::hash::Address6;
use filter_common::judge::{self, Tables};
use filter_common::labels::{self, Counted, Label};
use filter_common::packet::{self, Again6, Frame};
use filter_common::ports::{Port, Wants};
use filter_common::reason::{Enforcement, Reason, Told};
use filter_common::set::{self, Found4, Found6, Set, SetLabels, Sought6, UNSEEN};
use filter_common::sets::Slot;

use crate::clauses;
use crate::flow_map;
use crate::frame::{Anywhere, Context};
use crate::hook::{self, Raw};
use crate::samples;
use crate::tables::{self, Map, SETTINGS, Window, allowed, blocked, read, small};

#[allow(improper_ctypes, reason = "an array of no length is how C tells of the beginning of one")]
unsafe extern "C" {
    static ADDRESS_LABELS: Map;
    static NETWORK_LABELS: Map;
    static LEVEL_LABELS: Map;
    static SIX_LABELS: Map;

    /// The counters of lists, one set of them for each processor.
    static LISTS: Map;
    /// Flows that this host began, written by the egress program. This is the map itself, not its value.
    static FLOWS: Map;

    /// One row of counters for each processor: packets by outcome.
    static COUNTERS: Map;
    /// The ring of sampled drops. This too is the map itself.
    static SAMPLES: Map;
}

/// All maps, and the settings.
pub struct Maps<'a> {
    /// The packet that is judged.
    pub context: &'a Context,
}

impl Maps<'_> {
    /// How a list counts this packet, and how many frames it consists of, in one word.
    #[inline(always)]
    fn with_segments(&self, counted: Counted) -> u32 {
        hook::with_segments(counted as u32, self.context)
    }
}

impl Tables for Maps<'_> {
    #[inline(always)]
    fn enforcement(&self) -> Enforcement {
        tables::enforcement()
    }

    #[inline(always)]
    fn block(&self) -> impl Set {
        blocked()
    }

    #[inline(always)]
    fn allow(&self) -> impl Set {
        allowed()
    }

    #[inline(always)]
    fn may_overlap(&self) -> bool {
        tables::may_overlap()
    }

    #[inline(always)]
    fn allows4(&self, address: u32) -> bool {
        filterd_allows4(address) != 0
    }

    #[inline(always)]
    fn allows6(&self, address: Address6) -> bool {
        filterd_allows6(address.high, address.low) != 0
    }

    /// The steps that most hits need for counting are done in line, because a call takes longer than they
    /// do.
    #[inline(always)]
    fn follow4(&self, found: Found4) -> Reason {
        if read(&SETTINGS.match_new) == 0 && !self.may_overlap() {
            if read(&SETTINGS.lists) != 0 {
                self.count4(found, Counted::of_drop(self.enforcement()));
            }
            return found.reason();
        }
        let (number, label) = match found {
            Found4::Network(address) => (address.into(), IN_NETWORK),
            Found4::Address(shuffled, label) => (shuffled, label),
        };
        spared(filterd_follow4(self.context.get(), number, label), found.reason())
    }

    #[inline(always)]
    fn follow6(&self, found: Found6, _: impl FnOnce() -> Option<Again6>) -> Reason {
        let (by, number, place) = match found {
            Found6::Told(told) => (BY_LEVELS, 0, told),
            Found6::UpTo64(kind, shuffled, home) => (kind.number(), shuffled, home),
            Found6::Other => (BY_OTHER, 0, 0),
        };
        spared(filterd_follow6(self.context.get(), by, number, place), found.reason())
    }

    #[inline(always)]
    fn count4(&self, found: Found4, counted: Counted) {
        if read(&SETTINGS.lists) == 0 {
            return;
        }
        let label = match found {
            Found4::Network(address) => set::label_of_network4(&blocked(), &block_labels(), address),
            Found4::Address(_, number) if number != UNSEEN => {
                set::seen_label4(&blocked(), &block_labels(), number)
            }
            Found4::Address(shuffled, _) => {
                filterd_count_address4(shuffled, self.with_segments(counted));
                return;
            }
        };
        count(label, self.with_segments(counted));
    }

    #[inline(always)]
    fn count6(&self, Address6 { high, low }: Address6, found: Found6, counted: Counted) {
        if read(&SETTINGS.lists) == 0 {
            return;
        }
        match found {
            Found6::Told(_) | Found6::UpTo64(..) => {
                let address = Address6 { high, low };
                count(set::label6(&blocked(), &block_labels(), address, found), self.with_segments(counted))
            }
            Found6::Other => filterd_count6(high, low, self.with_segments(counted)),
        };
    }

    #[inline(always)]
    fn count_other(&self, counted: Counted) {
        if read(&SETTINGS.lists) != 0 {
            count(labels::OTHER, self.with_segments(counted));
        }
    }

    #[inline(always)]
    fn count4_by_clause(&self, address: u32, found: Told, counted: Counted) {
        if read(&SETTINGS.lists) != 0 {
            clauses::count4(address, found, self.with_segments(counted));
        }
    }

    #[inline(always)]
    fn count6_by_clause(&self, address: Address6, found: Told, counted: Counted) {
        if read(&SETTINGS.lists) != 0 {
            clauses::count6(address, found, self.with_segments(counted));
        }
    }

    #[inline(always)]
    fn holds4(&self, slot: Slot, address: u32) -> Told {
        clauses::holds4(slot, address)
    }

    #[inline(always)]
    fn holds6(&self, slot: Slot, address: Address6) -> Told {
        clauses::holds6(slot, address)
    }

    #[inline(always)]
    fn wants(&self, slot: Slot, port: Port) -> Wants {
        clauses::wants(slot, port)
    }

    #[inline(always)]
    fn judge_by_port(&self, _: &(impl Frame + ?Sized)) -> Told {
        clauses::judge_by_port(self.context.get())
    }

    #[inline(always)]
    fn judge4_by_port(&self, _: &(impl Frame + ?Sized), address: u32) -> Told {
        clauses::judge4_by_port(self.context.get(), address)
    }

    #[inline(always)]
    fn judge6_by_port(&self, _: &(impl Frame + ?Sized), address: Address6) -> Told {
        clauses::judge6_by_port(self.context.get(), address)
    }

    #[inline(always)]
    fn is_reply(&self) -> bool {
        read(&SETTINGS.match_new) != 0 && filterd_replies(self.context.get()) != 0
    }
}

/// Decides about a packet with a blocked IPv4 source. It is a separate function so that the verifier walks
/// it only once. `number` is the address of a prefix, or the address as the table's scheme shuffled it. It
/// returns a code made by [`answer`].
#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn filterd_follow4(context: *mut Raw, number: u64, label: u32) -> u32 {
    let found =
        if label == IN_NETWORK { Found4::Network(number as u32) } else { Found4::Address(number, label) };
    let reason = judge::follow4(found, &Maps { context: &Context::of(context) });
    answer(reason)
}

/// Stands in place of a label's number.
const IN_NETWORK: u32 = UNSEEN - 1;

/// Does the same for IPv6. It reads the packet again, so that a miss need not keep any of it.
#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn filterd_follow6(context: *mut Raw, by: u32, number: u64, place: u32) -> u32 {
    let found = match by {
        BY_LEVELS => Found6::Told(place),
        BY_OTHER => Found6::Other,
        _ => Found6::UpTo64(Kind::told(by), number, place),
    };
    let packet = packet::again6(&Anywhere { context });
    let reason = judge::follow6(found, packet, &Maps { context: &Context::of(context) });
    answer(reason)
}

/// How the source was found. All other values are the kind of a prefix up to /64.
const BY_LEVELS: u32 = 0;
const BY_OTHER: u32 = 1;

/// The codes that these functions return: the finding stands, or why it does not. They differ from the
/// numbers of reasons, so that the compiler cannot merge the two. The verifier knows nothing about a
/// returned value that is not one of these.
const STANDS: u32 = 0;
const REPLIES: u32 = 1;
const ALLOWED: u32 = 2;
const NEIGHBOURS: u32 = 3;

#[inline(always)]
fn answer(reason: Reason) -> u32 {
    match reason {
        Reason::Allowed => ALLOWED,
        Reason::Neighbour => NEIGHBOURS,
        Reason::Reply => REPLIES,
        Reason::Unlisted
        | Reason::NotIp
        | Reason::Malformed
        | Reason::TooManyTags
        | Reason::Address4
        | Reason::Network4
        | Reason::Net64
        | Reason::Other6
        | Reason::OtherPort
        | Reason::LaterFragment
        | Reason::Outbound => STANDS,
    }
}

#[inline(always)]
fn spared(answer: u32, found: Reason) -> Reason {
    match answer {
        STANDS => found,
        ALLOWED => Reason::Allowed,
        NEIGHBOURS => Reason::Neighbour,
        _ => Reason::Reply,
    }
}

/// A separate function, like those below. It reads the packet again.
#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn filterd_replies(context: *mut Raw) -> u32 {
    // Older kernels also verify functions that are never called. Without this setting there is no such map.
    if read(&SETTINGS.match_new) == 0 {
        return 0;
    }
    flow::is_reply(&Anywhere { context }, &Flows, flow_map::now).into()
}

/// Flows that this host began. The judge only reads them.
struct Flows;

impl flow::Memory for Flows {
    #[inline(always)]
    fn last(&self, key: &Key) -> Option<u64> {
        flow_map::last((&raw const FLOWS).cast_mut().cast(), key)
    }

    #[inline(always)]
    fn note(&self, _: &Key, _: u64) {}
}

/// The counter with this number in this processor's row. Its address is calculated. The kernel's
/// per-processor array would take half as many instructions more, and a branch.
#[inline(always)]
pub fn counter(number: u32) -> *mut u64 {
    // SAFETY: the helper takes no argument and returns a number.
    let processor = unsafe { bpf_get_smp_processor_id() } & small(&SETTINGS.last_processor);
    let at = processor * counters::ROW + number;
    (&raw const COUNTERS).cast::<u64>().wrapping_add(at as usize).cast_mut()
}

/// The highest number of a processor, and whether drops are sampled. Both are in one word, because counting
/// reads the first and then needs no second load. In this form the test is one branch, which the verifier
/// removes.
#[inline(always)]
fn processors() -> (u32, bool) {
    let word = read(&SETTINGS.last_processor);
    (word as u32, (word as i64) < 0)
}

/// Three values: the first word of this processor's row of counters, the first byte behind the rows, and
/// whether drops are sampled. The bytes behind the rows contain the slot of each interface, by its number.
#[inline(always)]
pub fn counters_here() -> (*mut u64, *const u8, bool) {
    let (last_processor, is_sampled) = processors();
    // SAFETY: the helper takes no argument and returns a number.
    let processor = u64::from(unsafe { bpf_get_smp_processor_id() } & last_processor);
    let rows = u64::from(last_processor) + 1;
    let counters = (&raw const COUNTERS).cast::<u64>();
    let row = counters.wrapping_add((processor * u64::from(counters::ROW)) as usize);
    (row.cast_mut(), counters.wrapping_add((rows * u64::from(counters::ROW)) as usize).cast(), is_sampled)
}

/// A separate function, which the verifier walks once. In line, it would be walked again for each path on
/// which a packet is found in the set to block.
#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn filterd_allows4(address: u32) -> u32 {
    set::find4(&allowed(), address).is_some().into()
}

/// Does the same for IPv6.
#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn filterd_allows6(high: u64, low: u64) -> u32 {
    set::find6(&allowed(), Address6 { high, low }).is_some().into()
}

/// The labels of blocked targets.
#[inline(always)]
fn block_labels() -> LabelMaps<impl Fn(u32, u64, u32) -> u32> {
    LabelMaps {
        addresses: &raw const ADDRESS_LABELS,
        networks: &raw const NETWORK_LABELS,
        levels: &raw const LEVEL_LABELS,
        six: &raw const SIX_LABELS,
        of_six: |kind, number, more| filterd_label6(kind, number, more),
    }
}

/// These are separate functions too, so that packets that are not blocked keep nothing for them.
#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn filterd_count_address4(shuffled: u64, counted: u32) -> u32 {
    count(set::label_of_address4(&blocked(), &block_labels(), shuffled), counted)
}

#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn filterd_count6(high: u64, low: u64, counted: u32) -> u32 {
    count(set::label6(&blocked(), &block_labels(), Address6 { high, low }, Found6::Other), counted)
}

/// The kind that asks [`filterd_label6`] for a prefix longer than /64. All other kinds are those of
/// prefixes up to /64. The function returns `NO_LABEL` if the prefix is missing.
const LONGER: u32 = 0;
const NO_LABEL: u32 = 256;

/// A separate function, which the verifier walks once instead of once for each length in use.
#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn filterd_label6(kind: u32, number: u64, more: u32) -> u32 {
    label_of_six(&blocked(), &block_labels(), (kind, number, more))
}

/// The label in `set` of the prefix that these numbers describe.
#[inline(always)]
pub fn label_of_six(set: &impl Set, labels: &impl SetLabels, (kind, number, more): (u32, u64, u32)) -> u32 {
    let sought = match kind {
        LONGER => Sought6::Longer(Fingerprint { number, more }),
        _ => Sought6::UpTo64(Kind::told(kind), number),
    };
    set::label_of_six(set, labels, sought).map_or(NO_LABEL, u32::from)
}

/// Counts a packet for the list of this label, on this processor. `counted` comes from `with_segments`.
#[inline(always)]
pub fn count(label: Label, counted: u32) -> u32 {
    // For the same reason as in `filterd_replies`.
    if read(&SETTINGS.lists) == 0 {
        return 0;
    }
    let (counted, segments) = hook::without_segments(counted);
    let (last_processor, is_sampled) = processors();
    // SAFETY: the helper takes no argument and returns the processor's number.
    let processor = u64::from(unsafe { bpf_get_smp_processor_id() } & last_processor);
    // Calculated in whole words: from 32-bit parts, Linux 6.1 does not see that the sum has a limit.
    let of_label = u64::from(label) * u64::from(labels::KINDS) + u64::from(counted % labels::KINDS);
    let counter = processor * u64::from(labels::COUNTERS) + of_label;
    let counter = (&raw const LISTS).cast::<u64>().wrapping_add(counter as usize).cast_mut();
    // SAFETY: the map has this many counters for each processor, as the verifier has checked.
    let before = unsafe { counter.read_volatile() };
    // SAFETY: as above. It belongs to this processor, and no other program interrupts this one to change
    // it.
    unsafe { counter.write_volatile(before + segments) }
    if is_sampled {
        samples::note_label(counters_here().0, label);
    }
    0
}

/// The ring of sampled drops.
#[inline(always)]
pub fn samples() -> *mut c_void {
    (&raw const SAMPLES).cast_mut().cast()
}

/// The label maps of one set.
pub struct LabelMaps<A> {
    pub addresses: *const Map,
    pub networks: *const Map,
    pub levels: *const Map,
    pub six: *const Map,
    /// The function that looks up labels of IPv6 prefixes in the table.
    pub of_six: A,
}

impl<A: Fn(u32, u64, u32) -> u32> SetLabels for LabelMaps<A> {
    #[inline(always)]
    fn addresses(&self) -> Option<impl Words> {
        Window::of(self.addresses)
    }

    #[inline(always)]
    fn networks(&self) -> Option<impl Words> {
        Window::of(self.networks)
    }

    #[inline(always)]
    fn levels(&self) -> Option<impl Words> {
        Window::of(self.levels)
    }

    #[inline(always)]
    fn six(&self) -> Option<impl Words> {
        Window::of(self.six)
    }

    #[inline(always)]
    fn of_six(&self, _: &impl Set, sought: Sought6) -> Option<Label> {
        let label = match sought {
            Sought6::UpTo64(kind, shuffled) => (self.of_six)(kind.number(), shuffled, 0),
            Sought6::Longer(Fingerprint { number, more }) => (self.of_six)(LONGER, number, more),
        };
        (label < NO_LABEL).then_some(label as Label)
    }
}
