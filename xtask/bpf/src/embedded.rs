//! An object as the daemon embeds it: without what only debuggers read, which is most of it. BTF is no such thing: it names
//! types and lines to the kernel, and stays as it is.

use anyhow::{Context, Result};
use object::build::elf::{Builder, SectionData};
use object::elf::SHT_STRTAB;

use crate::btf;

/// What the names of sections with DWARF begin with; relocations of these go with them.
const FOR_DEBUGGERS: &[u8] = b".debug_";

/// The same object without them.
pub fn embedded(object: &[u8]) -> Result<Vec<u8>> {
    let mut builder = Builder::read(object).context("it is no ELF file that can be written anew")?;
    for section in &mut builder.sections {
        let name = section.name.strip_prefix(b".rel").unwrap_or(&section.name);
        section.delete = name.starts_with(FOR_DEBUGGERS);
        if section.name == ".BTF".into()
            && let SectionData::Data(types) = &mut section.data
        {
            btf::order_forwards(types.to_mut()).context("its types are not those of BTF")?;
        }
    }
    builder.delete_orphans();
    name_sections(&mut builder);
    let mut written = Vec::new();
    builder.write(&mut written).context("it cannot be written anew")?;
    Ok(written)
}

/// The linker has names of sections and of symbols in one table, the writer wants two.
fn name_sections(builder: &mut Builder<'_>) {
    if !builder.sections.iter().any(|section| matches!(section.data, SectionData::SectionString)) {
        let section = builder.sections.add();
        (section.name, section.sh_type, section.sh_addralign) = (".shstrtab".into(), SHT_STRTAB, 1);
        section.data = SectionData::SectionString;
    }
}

#[cfg(test)]
mod tests {
    use object::build::elf::Relocation;
    use object::elf::{SHF_ALLOC, SHT_PROGBITS, SHT_REL, STB_GLOBAL, STT_FUNC};
    use object::{Endianness, Object, ObjectSection, ObjectSymbol};

    use super::*;

    /// As the linker makes them: a program, types, and what debuggers read of either.
    fn linked() -> Vec<u8> {
        let mut builder = Builder::new(Endianness::Little, true);
        builder.header.e_type = object::elf::ET_REL;
        builder.header.e_machine = object::elf::EM_BPF;
        let mut add = |name: &'static str, sh_type, data| {
            let section = builder.sections.add();
            (section.name, section.sh_type, section.sh_flags) = (name.into(), sh_type, SHF_ALLOC.into());
            section.sh_addralign = 8;
            section.data = data;
            section.id()
        };
        let program = add("xdp", SHT_PROGBITS, SectionData::Data(vec![0x95; 16].into()));
        let types = add(".BTF", SHT_PROGBITS, SectionData::Data(vec![1; 24].into()));
        let info = add(".debug_info", SHT_PROGBITS, SectionData::Data(vec![2; 4096].into()));
        let symbols = add(".symtab", object::elf::SHT_SYMTAB, SectionData::Symbol);
        add(".strtab", SHT_STRTAB, SectionData::String);
        add(".shstrtab", SHT_STRTAB, SectionData::SectionString);
        let mut name = |name: &'static str, section| {
            let symbol = builder.symbols.add();
            (symbol.name, symbol.section) = (name.into(), Some(section));
            symbol.set_st_info(STB_GLOBAL, STT_FUNC);
            symbol.id()
        };
        let judge = name("judge", program);
        name("described", info);
        for (name, of) in [(".relxdp", program), (".rel.BTF", types), (".rel.debug_info", info)] {
            let section = builder.sections.add();
            (section.name, section.sh_type, section.sh_addralign) = (name.into(), SHT_REL, 8);
            (section.sh_link_section, section.sh_info_section) = (Some(symbols), Some(of));
            section.data = SectionData::Relocation(vec![Relocation {
                r_offset: 8,
                symbol: Some(judge),
                r_type: 1,
                r_addend: 0,
            }]);
        }
        let mut written = Vec::new();
        builder.write(&mut written).unwrap();
        written
    }

    #[test]
    fn only_debug_sections_are_stripped() {
        let linked = linked();
        let written = embedded(&linked).unwrap();
        let [before, after] = [&linked, &written].map(|bytes| object::File::parse(bytes.as_slice()).unwrap());
        let names = |file: &object::File<'_>| -> Vec<String> {
            file.sections().map(|section| section.name().unwrap().to_owned()).collect()
        };
        assert!(names(&before).contains(&".debug_info".to_owned()), "{:?}", names(&before));
        assert!(!names(&after).iter().any(|name| name.contains("debug")), "{:?}", names(&after));
        for kept in ["xdp", ".BTF"] {
            let of = |file: &object::File<'_>| {
                let section = file.section_by_name(kept).unwrap();
                let relocations: Vec<_> = section.relocations().map(|(at, _)| at).collect();
                (section.data().unwrap().to_vec(), relocations)
            };
            assert_eq!(of(&after), of(&before), "{kept}");
        }
        assert_eq!(after.symbol_by_name("judge").unwrap().address(), 0);
        assert!(after.symbol_by_name("described").is_none(), "what it named is gone");
    }

    #[test]
    fn invalid_object_is_reported() {
        let told = format!("{:#}", embedded(b"no ELF").unwrap_err());
        assert!(told.starts_with("it is no ELF file that can be written anew: "), "{told}");
    }
}
