//! Types that an object names and does not describe, in the order of their names. LLVM writes them in the order of their
//! addresses in its memory, so the same sources would make two objects.

use anyhow::{Context, Result, bail, ensure};

/// What BTF of little-endian machines begins with; none of the other ones comes with the source.
const MAGIC: [u8; 2] = [0x9f, 0xeb];

const POINTER: usize = 2;
const FORWARD: usize = 7;

/// Orders them; they are the last types, and their names are the last names.
pub fn order_forwards(btf: &mut [u8]) -> Result<()> {
    if !btf.starts_with(&MAGIC) {
        return Ok(());
    }
    let header = word(btf, 4)?;
    let types = types(btf, header + word(btf, 8)?, word(btf, 12)?)?;
    let names = header + word(btf, 16)?;
    let end = names + word(btf, 20)?;

    let described = types.iter().rposition(|(_, kind)| *kind != FORWARD).map_or(0, |last| last + 1);
    let (described, forwards) = types.split_at(described);
    let mut ordered = Vec::new();
    for (index, (at, _)) in forwards.iter().enumerate() {
        let name = btf.get(names + word(btf, *at)?..end).unwrap_or_default();
        let name = name.split_inclusive(|byte| *byte == 0).next().context("a type without a name")?;
        ordered.push((name.to_vec(), word(btf, at + 4)?, index));
    }
    let Some((first, _)) = forwards.first() else { return Ok(()) };
    let mut name = word(btf, *first)?;
    let length: usize = ordered.iter().map(|(name, ..)| name.len()).sum();
    ensure!(names + name + length == end, "names of types that it does not describe are not its last names");

    ordered.sort();
    let mut renumbered = vec![0; ordered.len()];
    for (new, (bytes, info, old)) in ordered.iter().enumerate() {
        renumbered[*old] = described.len() + 1 + new;
        let (at, _) = forwards[new];
        set(btf, at, name)?;
        set(btf, at + 4, *info)?;
        btf[names + name..][..bytes.len()].copy_from_slice(bytes);
        name += bytes.len();
    }
    for (at, kind) in described {
        let of = word(btf, at + 8)?;
        if *kind == POINTER && of > described.len() {
            let new =
                renumbered.get(of - described.len() - 1).context("a pointer to a type that is not there")?;
            set(btf, at + 8, *new)?;
        }
    }
    Ok(())
}

/// Where each type lies, and its kind. The first type has number 1.
fn types(btf: &[u8], start: usize, length: usize) -> Result<Vec<(usize, usize)>> {
    let (mut types, mut at) = (Vec::new(), start);
    while at < start + length {
        let info = word(btf, at + 4)?;
        let (kind, members) = (info >> 24 & 0x1f, info & 0xffff);
        types.push((at, kind));
        // As `struct btf_type` of the kernel has it: 12 bytes, then what the kind needs.
        at += 12
            + match kind {
                POINTER | FORWARD | 8..=12 | 16 | 18 => 0,
                1 | 14 | 17 => 4,
                3 => 12,
                4 | 5 | 15 | 19 => 12 * members,
                6 | 13 => 8 * members,
                unknown => bail!("a type of an unknown kind, {unknown}"),
            };
    }
    Ok(types)
}

fn word(btf: &[u8], at: usize) -> Result<usize> {
    let word = btf.get(at..).and_then(<[u8]>::first_chunk).context("it is cut")?;
    Ok(usize::try_from(u32::from_le_bytes(*word))?)
}

fn set(btf: &mut [u8], at: usize, value: usize) -> Result<()> {
    let word = btf.get_mut(at..).and_then(<[u8]>::first_chunk_mut).context("it is cut")?;
    *word = u32::try_from(value)?.to_le_bytes();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An integer, a pointer to each of these types, and these types.
    fn naming(forwards: [&str; 2]) -> Vec<u8> {
        let [first, second] = forwards.map(|name| format!("{name}\0"));
        let names = format!("\0int\0{first}{second}");
        let kind = |kind: u32| kind << 24;
        let (int, pointer, forward) = (kind(1), kind(2), kind(7));
        // Names begin with an empty one and `int`.
        let second_name = 5 + u32::try_from(first.len()).unwrap();
        let of =
            |name| 4 + u32::try_from(forwards.iter().position(|forward| *forward == name).unwrap()).unwrap();
        #[rustfmt::skip]
        let types = [
            1, int, 4, 32,
            0, pointer, of("bpf_flow_keys"),
            0, pointer, of("bpf_sock"),
            5, forward, 0,
            second_name, forward, 0,
        ];
        let types_length = u32::try_from(4 * types.len()).unwrap();
        let header = [0x0001_eb9f, 24, 0, types_length, types_length, u32::try_from(names.len()).unwrap()];
        let words = header.into_iter().chain(types).flat_map(u32::to_le_bytes);
        words.chain(names.into_bytes()).collect()
    }

    /// CI of 2026-11-29 refused an object that this machine had made: two such types had changed places.
    #[test]
    fn order_of_addresses_does_not_show() {
        let wanted = naming(["bpf_flow_keys", "bpf_sock"]);
        let mut swapped = naming(["bpf_sock", "bpf_flow_keys"]);
        assert_ne!(swapped, wanted);
        order_forwards(&mut swapped).unwrap();
        assert_eq!(swapped, wanted);
        order_forwards(&mut swapped).unwrap();
        assert_eq!(swapped, wanted, "what is in order stays");
    }

    #[test]
    fn cut_types_are_reported() {
        let mut cut = naming(["bpf_sock", "bpf_flow_keys"]);
        cut.truncate(60);
        assert_eq!(order_forwards(&mut cut).unwrap_err().to_string(), "it is cut");
    }
}
