//! What many hosts need, public resolvers and networks of CDNs: whoever blocks it is warned, and obeyed.

use harness::{ATTACKER, Net};

#[test]
fn whoever_blocks_what_many_hosts_need_is_warned_and_obeyed() {
    let net = Net::with_filterd("");
    net.filterd(["add", "8.8.8.8"])
        .succeeds()
        .complains("8.8.8.8: a public resolver of Google, which many hosts ask");
    net.filterd(["add", "104.16.0.0/14"])
        .succeeds()
        .complains("104.16.0.0/14: Cloudflare serves many sites from there");
    net.filterd(["add", ATTACKER]).succeeds().is_silent_about("many");
    net.expect_each(["8.8.8.8", "104.16.1.1"]).dropped();
    // Of a list the counts are told, by whatever reads it.
    net.file("drop.txt", "1.1.1.1\n151.101.1.0/24\n192.0.2.1\n");
    let lists = "lists: [{name: drop, path: $HOME/drop.txt}]";
    net.configure(lists);
    let told = "list drop has entries that many hosts need: 1 of Cloudflare's public resolvers, \
                1 in Fastly's network";
    let config = net.home().path("filterd.yaml");
    net.filterd(["check", config.to_str().expect("its path is text")]).complains(told);
    net.filterd(["reload"]).succeeds().complains(told);
    net.expect_each(["1.1.1.1", "151.101.1.9"]).dropped();
}
