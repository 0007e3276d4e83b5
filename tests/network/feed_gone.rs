//! A feed whose server nobody finds by its name any more, or nobody vouches for: what was good stays, why is told, and nobody
//! waits for it.

use std::net::UdpSocket;
use std::thread::scope;

use harness::{ATTACKER, Authority, BYSTANDER, GATEWAY, Home, Net, OwnNames, Reply, Site};

const CONFIG: &str = "lists: [{name: ipsum, url: 'https://lists.example/list.txt', allow_private: true, refresh: 1h, timeout: 10s}]";

fn refresh(home: &Home) -> Reply {
    home.filterd(["lists", "refresh", "ipsum"])
}

/// It was told why it cannot be fetched, and drops what it had.
fn stays(net: &Net, told: Reply, why: &str) {
    told.exits(7).says("ipsum: NOT FETCHED, 1 entry").complains(why).complains("in force");
    net.filterd(["status"]).exits(7).says(why);
    net.filterd(["lists"]).exits(7).says(why);
    net.expect(ATTACKER).dropped();
    net.expect(BYSTANDER).passes();
}

#[test]
fn unreachable_server_keeps_last_good_list() {
    let mut net = Net::new();
    let (authority, other) = (Authority::new(), Authority::new());
    net.readable_by_all();
    let names = OwnNames::in_home(net.home(), GATEWAY);
    net.starts_through(names.words());
    let is_here = [("lists.example", GATEWAY)];
    names.knows(&is_here);
    names.trusts(&[&authority]);
    let site = Site::up_over_tls(&net, authority.certificate("lists.example", 1));
    site.has(&format!("{ATTACKER}\n"));
    net.start(CONFIG);
    refresh(net.home()).succeeds();
    net.expect(ATTACKER).dropped();
    site.has(&format!("{BYSTANDER}\n"));
    site.asked();

    // Nobody vouches for the server any more: it is not even asked.
    for trusted in [&[&other][..], &[]] {
        names.trusts(trusted);
        let why = if trusted.is_empty() { "has no trusted certificate authorities" } else { "does not know" };
        stays(&net, refresh(net.home()), why);
    }
    assert!(site.asked().is_empty(), "whoever is not trusted is told nothing");
    names.trusts(&[&other, &authority]);

    // Its name is gone, and nobody answers who would know.
    names.knows(&[]);
    stays(&net, refresh(net.home()), "cannot resolve `lists.example`");

    // Somebody is there who would know, and says nothing: only who asked for the list waits.
    let silent = net.peer().inside(|| UdpSocket::bind((GATEWAY, 53)).expect("nobody else listens there"));
    scope(|scope| {
        let home = net.home();
        let waiting = scope.spawn(|| refresh(home));
        let mut asked = [0; 512];
        silent.recv(&mut asked).expect("it is asked for the name");
        net.filterd(["add", BYSTANDER]).succeeds();
        net.expect(BYSTANDER).dropped();
        net.filterd(["reload"]).succeeds();
        net.filterd(["remove", BYSTANDER]).succeeds();
        stays(&net, waiting.join().expect("it ends"), "cannot resolve `lists.example`");
    });

    // A start finds it as it was.
    net.stop();
    net.start(CONFIG);
    net.expect(ATTACKER).dropped();
    names.knows(&is_here);
    refresh(net.home()).succeeds().says("ipsum: changed, 1 entry");
    net.expect(BYSTANDER).dropped();
    net.expect(ATTACKER).passes();
    net.filterd(["status"]).succeeds();
}
