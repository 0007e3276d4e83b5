//! Looks at the buffers in which the stack receives frames: is what the kernel keeps at their end aligned? If it is not, the next
//! clone of such a buffer is a split lock, which ends hosts that do not allow any (CVE-2026-99127).

use std::collections::HashMap;
use std::fs;
use std::os::fd::{AsFd, AsRawFd};

use aya::Ebpf;
use aya::maps::{Array, Map, MapData};
use aya::programs::RawTracePoint;

use crate::foreign::licensed_file;

/// Counts the buffers of one interface until it is dropped.
#[derive(Debug)]
pub struct Buffers {
    counts: Map,
    _program: Ebpf,
}

/// An array, as the kernel numbers kinds of maps.
const BPF_MAP_TYPE_ARRAY: u32 = 2;
const NAME: &str = "look_at_buffers";
const TRACEPOINT: &str = "netif_receive_skb";
/// `bpf_probe_read_kernel`
const READ: i32 = 113;
/// In front of the address of a map's value.
const MAP_VALUE: u8 = 2;

/// One instruction: its code, the registers it goes to and comes from, its offset and its number.
fn instruction(code: u8, [to, from]: [u8; 2], offset: i16, number: i32) -> [u8; 8] {
    let ([a, b], [c, d, e, f]) = (offset.to_le_bytes(), number.to_le_bytes());
    [code, from << 4 | to, a, b, c, d, e, f]
}

impl Buffers {
    /// Of the interface with this name of eight letters, in whichever network namespace.
    pub fn of(interface: &str) -> Self {
        let name: [u8; 8] = interface.as_bytes().try_into().expect("its name has eight letters");
        let [low, high] =
            [&name[..4], &name[4..]].map(|half| i32::from_le_bytes(half.try_into().expect("four")));
        let counts = aya_obj::Map::new_from_params(BPF_MAP_TYPE_ARRAY, 4, 16, 1, 0);
        let counts = MapData::create(counts, "buffers", None).expect("there is memory");
        let descriptor = counts.fd().as_fd().as_raw_fd();
        let fields = Fields::of_this_kernel();
        // r6: the buffer. What is read comes to the stack.
        let read = |from: u8, offset: i32, to: i32, bytes: i32| {
            [
                instruction(0xbf, [1, 10], 0, 0),
                instruction(0x07, [1, 0], 0, to),
                instruction(0xb7, [2, 0], 0, bytes),
                instruction(0xbf, [3, from], 0, 0),
                instruction(0x07, [3, 0], 0, offset),
                instruction(0x85, [0, 0], 0, READ),
            ]
        };
        let program = [
            vec![instruction(0x79, [6, 1], 0, 0)],
            read(6, fields.device, -8, 8).to_vec(),
            vec![instruction(0x79, [7, 10], -8, 0)],
            read(7, fields.name, -8, 8).to_vec(),
            // Another interface's: to the end.
            vec![
                instruction(0x79, [7, 10], -8, 0),
                instruction(0x18, [8, 0], 0, low),
                instruction(0, [0, 0], 0, high),
                instruction(0x5d, [7, 8], 23, 0),
            ],
            read(6, fields.head, -8, 8).to_vec(),
            read(6, fields.end, -16, 4).to_vec(),
            vec![
                instruction(0x79, [7, 10], -8, 0),
                instruction(0x61, [8, 10], -16, 0),
                instruction(0x0f, [7, 8], 0, 0),
                instruction(0x57, [7, 0], 0, 7),
                instruction(0x18, [1, MAP_VALUE], 0, descriptor),
                instruction(0, [0, 0], 0, 0),
                instruction(0xb7, [2, 0], 0, 1),
                instruction(0xdb, [1, 2], 0, 0),
                instruction(0x15, [7, 0], 2, 0),
                instruction(0x07, [1, 0], 0, 8),
                instruction(0xdb, [1, 2], 0, 0),
            ],
            vec![instruction(0xb7, [0, 0], 0, 0), instruction(0x95, [0, 0], 0, 0)],
        ];
        let program = program.concat().concat();
        let section = format!("raw_tp/{TRACEPOINT}");
        let mut object = Ebpf::load(&licensed_file(NAME, section.as_bytes(), &program, b"GPL\0"))
            .expect("a few instructions load");
        let look: &mut RawTracePoint =
            object.program_mut(NAME).and_then(|program| program.try_into().ok()).expect("the object has it");
        look.load().expect("the verifier has nothing to say");
        look.attach(TRACEPOINT).expect("the kernel has it");
        Self { counts: Map::Array(counts), _program: object }
    }

    /// How many there were, and how many of them have an end that is not aligned.
    pub fn counted(&self) -> [u64; 2] {
        let counts = Array::<_, [u64; 2]>::try_from(&self.counts).expect("it is an array");
        counts.get(&0, 0).expect("it is there")
    }
}

/// Where this kernel keeps what is looked at, in bytes.
struct Fields {
    device: i32,
    head: i32,
    end: i32,
    name: i32,
}

impl Fields {
    fn of_this_kernel() -> Self {
        let told = fs::read("/sys/kernel/btf/vmlinux").expect("the kernel describes its types");
        let types = Types::of(&told);
        let (buffer, device) = (types.members("sk_buff"), types.members("net_device"));
        // Its pointer to the device stands behind two others, in a union without a name.
        Self { device: 16, head: buffer["head"], end: buffer["end"], name: device["name"] }
    }
}

/// The kernel's description of its types (Documentation/bpf/btf.rst).
struct Types<'a> {
    types: &'a [u8],
    names: &'a [u8],
}

impl<'a> Types<'a> {
    fn of(told: &'a [u8]) -> Self {
        let header = word(told, 4) as usize;
        let part = |at: usize| {
            let (begin, length) = (header + word(told, at) as usize, word(told, at + 4) as usize);
            &told[begin..begin + length]
        };
        Self { types: part(8), names: part(16) }
    }

    fn name(&self, at: u32) -> &str {
        let name = &self.names[at as usize..];
        let end = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
        std::str::from_utf8(&name[..end]).expect("names are plain")
    }

    /// The members of a structure that have names, with their places in bytes.
    fn members(&self, structure: &str) -> HashMap<String, i32> {
        const STRUCT: u32 = 4;
        let mut at = 0;
        while at < self.types.len() {
            let [name, info] = [at, at + 4].map(|at| word(self.types, at));
            let (kind, members) = (info >> 24 & 0x1F, (info & 0xFFFF) as usize);
            at += 12;
            if kind == STRUCT && self.name(name) == structure {
                let member = |number: usize| {
                    let at = at + 12 * number;
                    // Where there are bit fields, the highest byte is their size.
                    let bits = word(self.types, at + 8) & if info >> 31 == 1 { 0xFF_FFFF } else { u32::MAX };
                    (self.name(word(self.types, at)).to_owned(), (bits / 8) as i32)
                };
                return (0..members).map(member).collect();
            }
            at += match kind {
                // A number; a variable; a tag of a declaration.
                1 | 14 | 17 => 4,
                3 => 12,
                // Structures and unions; sections of data; enumerations of 64 bits.
                4 | 5 | 15 | 19 => 12 * members,
                // Other enumerations, and what functions take.
                6 | 13 => 8 * members,
                _ => 0,
            };
        }
        panic!("this kernel has no {structure}");
    }
}

fn word(told: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes(told[at..at + 4].try_into().expect("four bytes"))
}
