//! `filterd export`: prints all entries in force, in a format that an import or another firewall reads.

use clap::Args;

use super::ask::entries;
use super::ask::trouble::CommandError;
use super::exchange::EntryWriter;
use super::exchange::format::ExchangeFormat;
use super::lists;
use super::render::console::Console;
use crate::clock;
use crate::config::ListName;
use crate::control::client::Endpoint;
use crate::control::wire::entry::{HOST, LIVE};
use crate::control::wire::lists::ListDetails;
use crate::control::wire::{self, words};
use crate::exit::Exit;
use crate::text::Explanation;

#[derive(Debug, Args)]
pub struct Export {
    /// plain, ipset, nft or json [default: plain, or json with --json]
    #[arg(long, value_name = "FORMAT")]
    format: Option<ExchangeFormat>,
    /// Only this list [default: all lists]
    #[arg(long, value_name = "NAME", value_parser = words::list_name)]
    list: Option<ListName>,
    /// Only live lists, which commands fill
    #[arg(long)]
    live: bool,
}

impl Export {
    pub fn execute(&self, socket: &Endpoint, console: &mut Console) -> Result<Exit, CommandError> {
        if console.json && self.format.is_some_and(|format| format != ExchangeFormat::Json) {
            let why = "--json is the same as --format json, but --format is another one";
            return Err(CommandError::unparsable(Explanation::new(why, "leave one of them out")));
        }
        let usual = if console.json { ExchangeFormat::Json } else { ExchangeFormat::Plain };
        let mut writer =
            self.format.unwrap_or(usual).writer(clock::on_the_wall(clock::after(Default::default())));
        let lists: Vec<ListDetails> =
            lists::ask(socket)?.lists.into_iter().filter(|list| self.means(list)).collect();
        writer.begin(&lists, &mut console.out)?;
        let mut count = 0;
        for allow in [false, true] {
            // A list that is requested by name either blocks or allows.
            if self.list.is_none() || lists.iter().any(|list| list.allows == allow) {
                count += self.write(allow, writer.as_mut(), (socket, console))?;
            }
        }
        writer.end(&mut console.out)?;
        if count == 0 {
            console.note("there is nothing to export");
        }
        writer.lost().told().for_each(|lost| console.note(&format!("warning: {lost}")));
        Ok(if writer.lost().is_whole() { Exit::Done } else { Exit::Partly })
    }

    fn means(&self, list: &ListDetails) -> bool {
        let is_named = self.list.as_ref().is_none_or(|name| name.as_str() == list.name);
        is_named && list.kind != HOST && (!self.live || list.kind == LIVE)
    }

    fn write(
        &self,
        allow: bool,
        writer: &mut dyn EntryWriter,
        (socket, console): (&Endpoint, &mut Console),
    ) -> Result<u64, CommandError> {
        let list = self.list.as_ref().map(ToString::to_string);
        let request = wire::List { list, allow, ..wire::List::default() };
        let mut count = 0;
        let entries = entries::of(&request, socket)?;
        while let Some(mut page) = entries.next_page() {
            // The order in which lists were created does not matter in an export.
            let same_target = page.chunk_by_mut(|one, next| one.target == next.target);
            same_target.for_each(|same| same.sort_by(|one, other| one.list.cmp(&other.list)));
            for entry in &page {
                let origin = entry.origin.as_deref().unwrap_or(LIVE);
                if origin == HOST || (self.live && origin != LIVE) {
                    continue;
                }
                count += 1;
                writer.entry(entry, allow, &mut console.out)?;
            }
        }
        entries.end()?;
        Ok(count)
    }
}
