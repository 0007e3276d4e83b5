//! Asks the kernel which programs TCX runs on an interface of our network namespace, and in which order. aya
//! asks for each program's description as well, for which the broker has no capability.
#![allow(unsafe_code, reason = "aya has no such call")]

use std::io;

use aya_obj::generated::bpf_attach_type::{BPF_TCX_EGRESS, BPF_TCX_INGRESS};
use aya_obj::generated::bpf_cmd::BPF_PROG_QUERY;
use nix::libc;

use super::TcSide;

/// The most programs that one side of an interface can have (`BPF_MPROG_MAX`).
const MOST: usize = 64;

/// A program in the row, and the link that attaches it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InRow {
    pub program: u32,
    /// Zero for a program that was attached without a link.
    pub link: u32,
}

/// The part of the kernel's `union bpf_attr` that this command reads and writes.
#[repr(C)]
#[derive(Default)]
struct Query {
    interface: u32,
    attach_type: u32,
    query_flags: u32,
    attach_flags: u32,
    programs: u64,
    count: u32,
    padding: u32,
    program_flags: u64,
    links: u64,
    link_flags: u64,
    revision: u64,
}

/// The programs on this side of the interface, in the order in which they run. An error where the kernel has
/// no TCX.
pub fn row(interface: u32, side: TcSide) -> io::Result<Vec<InRow>> {
    let attach_type = match side {
        TcSide::Received => BPF_TCX_INGRESS,
        TcSide::Sent => BPF_TCX_EGRESS,
    };
    let (mut programs, mut links) = ([0_u32; MOST], [0_u32; MOST]);
    let mut query = Query {
        interface,
        attach_type: attach_type as u32,
        programs: programs.as_mut_ptr() as u64,
        links: links.as_mut_ptr() as u64,
        count: MOST as u32,
        ..Query::default()
    };
    let (command, size) = (BPF_PROG_QUERY as libc::c_long, size_of::<Query>());
    // SAFETY: the kernel reads and writes `size` bytes of `query`, and `count` numbers of each array. All of
    // them live until the call returns.
    let answer = unsafe { libc::syscall(libc::SYS_bpf, command, &raw mut query, size) };
    if answer < 0 {
        return Err(io::Error::last_os_error());
    }
    let found = programs.iter().zip(&links).take(query.count as usize);
    Ok(found.map(|(program, link)| InRow { program: *program, link: *link }).collect())
}
