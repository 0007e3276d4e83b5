//! A daemon that fell into other hands has nothing fetched but what the configuration's file names.

use filterd::fetch::FetchError;

use super::site::{A, PRIVATE, Site, ok};

const NAMED: &str = "interfaces: [eth0]\nlists: [{name: one, url: 'http://a.example/list'}]\n";
const RENAMED: &str = "interfaces: [eth0]\nlists: [{name: one, url: 'http://b.example/list'}]\n";
const PRIVATE_TOO: &str =
    "interfaces: [eth0]\nlists: [{name: one, url: 'http://private.example/list', allow_private: true}]\n";

#[test]
fn only_what_the_file_names_is_fetched() {
    let mut site = Site::new();
    let file = site.home.write("filterd.yaml", NAMED);
    site.fetches_only_what_is_named_by(&file);
    let inside = site.serve(PRIVATE, |_, to| ok(to, "", b"secret"));
    site.serve(A, |_, to| ok(to, "", b"1.2.3.4\n"));
    assert_eq!(site.text(site.order(A, "list")).as_deref(), Ok("1.2.3.4\n"));
    let bold = |host, path| {
        let mut order = site.order(host, path);
        order.allow_private = true;
        site.text(order)
    };
    for told in [site.text(site.order(A, "other")), bold(A, "list"), bold(PRIVATE, "list")] {
        assert!(matches!(told, Err(FetchError::NotNamed(_))), "{told:?}");
    }
    assert_eq!(inside.asked().len(), 0);
    // An operator writes the file anew. What it named before stays for a rollback.
    site.home.write("filterd.yaml", PRIVATE_TOO);
    assert_eq!(bold(PRIVATE, "list").as_deref(), Ok("secret"));
    assert_eq!(site.text(site.order(A, "list")).as_deref(), Ok("1.2.3.4\n"));
    // One that is not valid takes nothing away.
    site.home.write("filterd.yaml", "lists: [");
    assert_eq!(site.text(site.order(A, "list")).as_deref(), Ok("1.2.3.4\n"));
    for lists in 0..4 {
        site.home.write(
            "filterd.yaml",
            &RENAMED.replace("one", &format!("list{lists}")).replace("/list", &format!("/{lists}")),
        );
        assert!(site.text(site.order(A, "nothing")).is_err());
    }
    let told = site.text(site.order(A, "list"));
    assert!(matches!(told, Err(FetchError::NotNamed(_))), "what was named long ago is forgotten: {told:?}");
}
