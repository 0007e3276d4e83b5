//! The help of every command. It joins the definitions of clap with `pages`, and `layout` fits both into 80 columns.

mod layout;
mod pages;

use clap::Command;

pub use layout::GLOBAL_HEADING;
#[cfg(test)]
pub use layout::{Row, WIDTH, global_rows, own_options, own_rows, shown_subcommands, tables_of};
pub use pages::HelpPage;
#[cfg(test)]
pub use pages::{GROUPS, Group, fault};

/// Builds all commands and gives each of them its page as help.
pub fn with_pages(mut tree: Command) -> Command {
    tree.build();
    // clap adds both options when it builds.
    let tree = tree
        .mut_arg("help", |help| help.help("Print help for filterd, or for a command"))
        .mut_arg("version", |version| version.help("Print the version of filterd"));
    below(tree, "")
}

fn below(command: Command, name: &str) -> Command {
    let help = HelpPage::of(name).map(|page| layout::help(&command, page));
    let command = command.mut_subcommands(|verb| {
        let name = format!("{name} {}", verb.get_name());
        below(verb, name.trim_start())
    });
    match help {
        Some(help) => command.override_help(help),
        None => command,
    }
}

#[cfg(test)]
mod tests;
