//! Somebody else's XDP program: it lets everything pass, and was there first.

use std::path::Path;

use aya::Ebpf;
use aya::programs::links::{FdLink, LinkOrder, LinkType, PinnedLink};
use aya::programs::tc::{
    NlOptions, SchedClassifier, SchedClassifierLink, TcAttachOptions, TcAttachType, qdisc_add_clsact,
};
use aya::programs::xdp::XdpLink;
use aya::programs::{Xdp, XdpMode};
use object::write::{Object, Symbol, SymbolSection};
use object::{Architecture, BinaryFormat, Endianness, SectionKind, SymbolFlags, SymbolKind, SymbolScope};

use crate::Namespace;

/// `r0 = XDP_PASS; exit`
const PASS: [u8; 16] = [0xb7, 0, 0, 0, 2, 0, 0, 0, 0x95, 0, 0, 0, 0, 0, 0, 0];

/// A program attached to an interface; gone when dropped.
#[derive(Debug)]
pub struct ForeignProgram {
    /// What the kernel calls it.
    pub name: &'static str,
    /// The number the kernel gave it.
    pub id: u32,
    _program: Ebpf,
}

impl ForeignProgram {
    /// Attaches it to an interface in native mode.
    pub fn attach(namespace: &Namespace, interface: &str) -> Self {
        Self::attach_as("other_firewall", namespace, interface)
    }

    /// Attaches one that is called so.
    pub fn attach_as(name: &'static str, namespace: &Namespace, interface: &str) -> Self {
        Self::load(name, |program| {
            namespace.inside(|| program.attach(interface, XdpMode::Driver)).expect("nobody else is there");
        })
    }

    /// Lets it take the place of the program that this pinned link, of XDP or TCX, brings packets to. None if the pin is no
    /// link.
    pub fn take_link(pin: &Path) -> Option<Self> {
        const ALLOWED: &str = "whoever holds a link may give it another program";
        if pin.is_symlink() {
            return None;
        }
        let link = FdLink::from(PinnedLink::from_pin(pin).expect("it is pinned"));
        let kind = link.info().and_then(|info| info.link_type()).expect("links have types");
        if matches!(kind, LinkType::Xdp) {
            return Some(Self::load("other_firewall", |program| {
                let link = XdpLink::try_from(link).expect("it is a link to an interface");
                program.attach_to_link(link).expect(ALLOWED);
            }));
        }
        let name = "other_firewall";
        let mut object = Ebpf::load(&object_file(name, b"classifier", &NEXT))
            .expect("a program of two instructions loads");
        let program = classifier(&mut object, name);
        let link = SchedClassifierLink::try_from(link).expect("it is a link of TCX");
        program.attach_to_link(link).expect(ALLOWED);
        let id = program.info().expect("it is loaded").id();
        Some(Self { name, id, _program: object })
    }

    fn load(name: &'static str, then: impl FnOnce(&mut Xdp)) -> Self {
        let mut object =
            Ebpf::load(&object_file(name, b"xdp", &PASS)).expect("a program of two instructions loads");
        let program: &mut Xdp = object
            .program_mut(name)
            .expect("the object has it")
            .try_into()
            .expect("and it is an XDP program");
        program.load().expect("the verifier has nothing to say");
        then(program);
        let id = program.info().expect("it is loaded").id();
        Self { name, id, _program: object }
    }
}

/// `r0 = TC_ACT_UNSPEC; exit`
const NEXT: [u8; 16] = [0xb7, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0x95, 0, 0, 0, 0, 0, 0, 0];

/// Somebody else's program on what an interface sends: it lets everything go on. Gone when dropped.
#[derive(Debug)]
pub struct ForeignEgress {
    /// What the kernel calls it.
    pub name: &'static str,
    _program: Ebpf,
}

impl ForeignEgress {
    /// Attaches it to `eth0`: by a link of TCX where the kernel has that and it is wanted, else as a filter of `clsact`.
    pub fn attach(namespace: &Namespace, by_link: bool) -> Self {
        let name = "other_egress";
        let mut object = Ebpf::load(&Self::object()).expect("two instructions load");
        let program = classifier(&mut object, name);
        attach(program, namespace, TcAttachType::Egress, by_link);
        Self { name, _program: object }
    }

    /// Its object file.
    pub fn object() -> Vec<u8> {
        object_file("other_egress", b"classifier", &NEXT)
    }

    /// The programs of links on what `eth0` sends; none on a kernel without.
    pub fn linked(namespace: &Namespace) -> Vec<String> {
        let asked = namespace.inside(|| SchedClassifier::query_tcx("eth0", TcAttachType::Egress));
        let programs = asked.map(|(_, programs)| programs).unwrap_or_default();
        programs.iter().filter_map(|program| program.name_as_str().map(str::to_owned)).collect()
    }
}

/// `r0 = protocol; if r0 == IPv4 goto drop; r0 = TC_ACT_UNSPEC; exit; drop: r0 = TC_ACT_SHOT; exit`
const DROP_IPV4: [u8; 48] = {
    let ipv4 = 0x0800_u16.to_be_bytes();
    let ipv4 = u16::from_ne_bytes(ipv4).to_le_bytes();
    [
        0x61, 0x10, 16, 0, 0, 0, 0, 0, 0x15, 0, 2, 0, ipv4[0], ipv4[1], 0, 0, 0xb7, 0, 0, 0, 0xff, 0xff,
        0xff, 0xff, 0x95, 0, 0, 0, 0, 0, 0, 0, 0xb7, 0, 0, 0, 2, 0, 0, 0, 0x95, 0, 0, 0, 0, 0, 0, 0,
    ]
};

/// `r0 = TC_ACT_SHOT; exit`
const DROP_ALL: [u8; 16] = [0xb7, 0, 0, 0, 2, 0, 0, 0, 0x95, 0, 0, 0, 0, 0, 0, 0];

/// Somebody else's program of TC on what `eth0` receives. Gone when dropped.
#[derive(Debug)]
pub struct ForeignIngress {
    _program: Ebpf,
}

impl ForeignIngress {
    /// Attaches one that drops all IPv4 packets: by a link of TCX, or else as a filter of `clsact`.
    pub fn drop_ipv4(namespace: &Namespace, by_link: bool) -> Self {
        Self::attach(&DROP_IPV4, namespace, by_link)
    }

    /// Attaches one that drops all frames, by a link of TCX.
    pub fn drop_all(namespace: &Namespace) -> Self {
        Self::attach(&DROP_ALL, namespace, true)
    }

    fn attach(program: &[u8], namespace: &Namespace, by_link: bool) -> Self {
        let name = "other_ingress";
        let mut object =
            Ebpf::load(&object_file(name, b"classifier", program)).expect("a few instructions load");
        attach(classifier(&mut object, name), namespace, TcAttachType::Ingress, by_link);
        Self { _program: object }
    }
}

fn attach(program: &mut SchedClassifier, namespace: &Namespace, side: TcAttachType, by_link: bool) {
    namespace.inside(|| {
        let options = if by_link {
            TcAttachOptions::TcxOrder(LinkOrder::default())
        } else {
            qdisc_add_clsact("eth0").expect("there is none");
            TcAttachOptions::Netlink(NlOptions::default())
        };
        program.attach_with_options("eth0", side, options).expect("there is room")
    });
}

/// The classifier of this name, loaded.
fn classifier<'a>(object: &'a mut Ebpf, name: &str) -> &'a mut SchedClassifier {
    let program = object.program_mut(name).expect("the object has it");
    let program: &mut SchedClassifier = program.try_into().expect("and it is a classifier");
    program.load().expect("the verifier has nothing to say");
    program
}

/// The object file a compiler would have written.
fn object_file(name: &str, section: &[u8], program: &[u8]) -> Vec<u8> {
    licensed_file(name, section, program, b"MIT\0")
}

/// The same under this license.
pub(crate) fn licensed_file(name: &str, section: &[u8], program: &[u8], license: &[u8]) -> Vec<u8> {
    let mut object = Object::new(BinaryFormat::Elf, Architecture::Bpf, Endianness::Little);
    let section = object.add_section(Vec::new(), section.to_vec(), SectionKind::Text);
    let value = object.append_section_data(section, program, 8);
    object.add_symbol(Symbol {
        name: name.into(),
        value,
        size: program.len() as u64,
        kind: SymbolKind::Text,
        scope: SymbolScope::Dynamic,
        weak: false,
        section: SymbolSection::Section(section),
        flags: SymbolFlags::None,
    });
    let section = object.add_section(Vec::new(), b"license".to_vec(), SectionKind::Data);
    object.append_section_data(section, license, 1);
    object.write().expect("memory is large enough")
}
