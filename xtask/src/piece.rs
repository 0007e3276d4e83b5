//! What the linker made of the daemon: one piece that lies wherever the kernel puts it, without what only debuggers want.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};

/// An ELF file that may lie anywhere.
const ET_DYN: u16 = 3;
/// A part that names the program by which it is loaded.
const PT_INTERP: u32 = 3;
/// A section of names for debuggers.
const SHT_SYMTAB: u32 = 2;
/// More than it has: whoever makes it larger than that means it.
const LARGEST: usize = 24 << 20;

/// Refuses a program that lies at one place in memory, which an attacker would know, or that loads libraries.
pub fn must_lie_anywhere(program: &Path) -> Result<()> {
    let file = fs::read(program).with_context(|| format!("cannot read {}", program.display()))?;
    check(&file).with_context(|| format!("{} is not what it should be", program.display()))
}

/// Refuses a program that carries what is of no use to whoever runs it.
pub fn must_be_stripped(program: &Path) -> Result<()> {
    let file = fs::read(program).with_context(|| format!("cannot read {}", program.display()))?;
    check_size(&file).with_context(|| format!("{} is not what it should be", program.display()))
}

fn check_size(file: &[u8]) -> Result<()> {
    ensure!(file.len() <= LARGEST, "it has {} bytes, more than {LARGEST}", file.len());
    check_kind(file)?;
    let (sections, size, count) =
        (usize::try_from(u64_at(file, 40)?)?, usize::from(u16_at(file, 58)?), u16_at(file, 60)?);
    for number in 0..usize::from(count) {
        let kind = u32_at(file, sections + number * size + 4)?;
        ensure!(kind != SHT_SYMTAB, "it has names for debuggers (it is not stripped)");
    }
    Ok(())
}

fn check_kind(file: &[u8]) -> Result<()> {
    ensure!(file.starts_with(b"\x7fELF\x02\x01"), "it is no little-endian ELF file of 64 bits");
    Ok(())
}

fn check(file: &[u8]) -> Result<()> {
    check_kind(file)?;
    ensure!(u16_at(file, 16)? == ET_DYN, "it lies at one place in memory (it is no static PIE)");
    let (parts, size, count) =
        (usize::try_from(u64_at(file, 32)?)?, usize::from(u16_at(file, 54)?), u16_at(file, 56)?);
    for number in 0..usize::from(count) {
        let kind = u32_at(file, parts + number * size)?;
        ensure!(kind != PT_INTERP, "it is loaded by another program (it is no static PIE)");
    }
    Ok(())
}

fn bytes_at<const N: usize>(file: &[u8], at: usize) -> Result<[u8; N]> {
    let bytes = file.get(at..).and_then(|rest| rest.first_chunk()).context("it ends too early")?;
    Ok(*bytes)
}

fn u16_at(file: &[u8], at: usize) -> Result<u16> {
    Ok(u16::from_le_bytes(bytes_at(file, at)?))
}

fn u32_at(file: &[u8], at: usize) -> Result<u32> {
    Ok(u32::from_le_bytes(bytes_at(file, at)?))
}

fn u64_at(file: &[u8], at: usize) -> Result<u64> {
    Ok(u64::from_le_bytes(bytes_at(file, at)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file of this kind with parts of these kinds.
    fn file(kind: u16, parts: &[u32]) -> Vec<u8> {
        let mut file = vec![0; 64 + 56 * parts.len()];
        file[..6].copy_from_slice(b"\x7fELF\x02\x01");
        file[16..18].copy_from_slice(&kind.to_le_bytes());
        file[32..40].copy_from_slice(&64_u64.to_le_bytes());
        file[54..56].copy_from_slice(&56_u16.to_le_bytes());
        file[56..58].copy_from_slice(&(parts.len() as u16).to_le_bytes());
        for (number, part) in parts.iter().enumerate() {
            file[64 + 56 * number..][..4].copy_from_slice(&part.to_le_bytes());
        }
        file
    }

    #[test]
    fn only_a_static_pie_lies_anywhere() {
        check(&file(ET_DYN, &[1, 2, 6])).unwrap();
        let why = |file: Vec<u8>| check(&file).unwrap_err().to_string();
        assert!(why(file(2, &[1])).starts_with("it lies at one place"));
        assert!(why(file(ET_DYN, &[6, PT_INTERP, 1])).starts_with("it is loaded by another program"));
        assert!(why(file(ET_DYN, &[1])[..66].to_vec()).starts_with("it ends too early"));
        assert!(why(b"#!/bin/sh".to_vec()).starts_with("it is no"));
    }

    #[test]
    fn debug_sections_are_refused() {
        let with_sections = |kinds: &[u32]| {
            let mut file = file(ET_DYN, &[1]);
            let begin = file.len();
            file[40..48].copy_from_slice(&(begin as u64).to_le_bytes());
            file[58..60].copy_from_slice(&64_u16.to_le_bytes());
            file[60..62].copy_from_slice(&(kinds.len() as u16).to_le_bytes());
            for kind in kinds {
                file.extend([&[0; 4][..], &kind.to_le_bytes(), &[0; 56]].concat());
            }
            file
        };
        check_size(&with_sections(&[0, 1, 11])).unwrap();
        let why = |file: &[u8]| check_size(file).unwrap_err().to_string();
        assert!(why(&with_sections(&[0, 1, SHT_SYMTAB])).starts_with("it has names for debuggers"));
        assert!(why(&vec![0; LARGEST + 1]).starts_with("it has 25165825 bytes"));
    }
}
