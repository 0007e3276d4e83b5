//! What many hosts need, public resolvers and networks of CDNs: whoever blocks it is warned, and obeyed.

use harness::{ATTACKER, Net};

#[test]
fn blocking_shared_networks_warns_and_works() {
    let net = Net::with_filterd("");
    net.filterd(["add", "8.8.8.8"])
        .succeeds()
        .complains("8.8.8.8: a public resolver of Google, which many hosts use");
    net.filterd(["add", "104.16.0.0/14"])
        .succeeds()
        .complains("104.16.0.0/14: Cloudflare serves many sites from it");
    net.filterd(["add", ATTACKER]).succeeds().is_silent_about("many");
    net.expect_each(["8.8.8.8", "104.16.1.1"]).dropped();
    // Of a list the counts are told, by whatever reads it.
    net.file("drop.txt", "1.1.1.1\n151.101.1.0/24\n192.0.2.1\n");
    let lists = "lists: [{name: drop, path: $HOME/drop.txt}]";
    net.configure(lists);
    let told = "list \"drop\" has entries that many hosts need: 1 of Cloudflare's public resolvers, \
                1 in Fastly's network";
    let config = net.home().path("filterd.yaml");
    net.filterd(["check", config.to_str().expect("its path is text")]).complains(told);
    net.filterd(["diff"]).exits(1).complains(
        "list \"drop\" would have new entries that many hosts need: 1 of Cloudflare's public resolvers, 1 in Fastly's network",
    );
    net.filterd(["reload"]).succeeds().complains(told);
    net.filterd(["diff"]).succeeds().is_silent_about("many hosts");
    net.expect_each(["1.1.1.1", "151.101.1.9"]).dropped();
}

/// However many messages it takes, and though each knows its own targets alone.
#[test]
fn bulk_add_warns_once_about_shared_networks() {
    let net = Net::with_filterd("");
    let many =
        |first: u8| (0..9000).map(move |host: u32| format!("{first}.0.{}.{}\n", host >> 8, host & 255));
    let lines: String = many(11)
        .chain(["1.1.1.1\n".to_owned()])
        .chain(many(12))
        .chain(["8.8.8.8\n".to_owned(), "1.0.0.1\n".to_owned()])
        .collect();
    let told = net.filterd_reading(["add", "-"], &lines).succeeds().complains(
        "warning: the targets include entries that many hosts need: 2 of Cloudflare's public resolvers, \
         1 of Google's public resolvers, 1 in Google's network\n",
    );
    assert_eq!(told.complaint.matches("warning").count(), 1, "{told}");
    net.expect_each(["1.1.1.1", "8.8.8.8"]).dropped();
}
