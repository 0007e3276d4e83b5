//! A world of one's own: two servers' addresses that everybody can reach, one that only some can, their names, and whom to
//! trust; and a fetcher in it.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use filterd::fetch::{FetchError, FetchOrder, Fetched, Fetcher};
use flate2::Compression;
use flate2::write::GzEncoder;
use harness::{Asked, Authority, Home, Namespace, Web, Where, unique_name};
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use rustls::ServerConfig;

/// Who answers.
#[derive(Clone, Copy)]
pub struct Host {
    pub name: &'static str,
    pub address: &'static str,
}

pub const A: Host = Host { name: "a.example", address: "9.9.9.9" };
pub const B: Host = Host { name: "b.example", address: "9.9.9.10" };
pub const PRIVATE: Host = Host { name: "private.example", address: "10.9.9.9" };

/// All names there are. One has an address that is nobody's business and one that is; one is the other, in disguise.
const HOSTS: &str = "\
9.9.9.9 a.example a1.example
9.9.9.10 b.example
10.9.9.9 private.example both.example
9.9.9.9 both.example
::ffff:10.9.9.9 mapped.example
64:ff9b::a09:909 translated.example
127.0.0.1 localhost
169.254.169.254 metadata.example
9.9.9.11 nobody-listens.example
";

/// So long a fetch may take here that is to succeed.
const PATIENCE: Duration = Duration::from_secs(30);

pub struct Site {
    namespace: Namespace,
    fetcher: Fetcher,
    pub authority: Authority,
    pub home: Home,
}

impl Host {
    pub fn address(self) -> IpAddr {
        self.address.parse().expect("it is one")
    }
}

impl Site {
    pub fn new() -> Self {
        Self::with_authority(|_, path| assert!(!path.exists(), "nobody is trusted"))
    }

    /// One in which whoever this writes down is trusted.
    pub fn with_authority(write: impl FnOnce(&Authority, &Path)) -> Self {
        let home = Home::new();
        home.readable_by_all();
        let (authority, trusted) = (Authority::new(), home.path("trusted.pem"));
        write(&authority, &trusted);
        let namespace = Namespace::new(unique_name());
        namespace.ip_all(
            "link set lo up\naddr add 9.9.9.9/32 dev lo\naddr add 9.9.9.10/32 dev lo\naddr add 9.9.9.11/32 dev lo\n\
             addr add 10.9.9.9/32 dev lo\naddr add 169.254.169.254/32 dev lo\n",
        );
        home.write("hosts", HOSTS);
        // Nobody answers there, and says so at once.
        home.write("resolv.conf", "nameserver 9.9.9.11\noptions timeout:1 attempts:1\n");
        let fetcher = begin(&namespace, &home, None);
        Self { namespace, fetcher, authority, home }
    }

    /// From here on nothing is fetched but what this configuration names.
    pub fn fetches_only_what_is_named_by(&mut self, configuration: &Path) {
        self.fetcher = begin(&self.namespace, &self.home, Some(configuration));
    }

    /// A program among these servers.
    pub fn command(&self, program: &str) -> Command {
        self.namespace.command(program)
    }

    pub fn serve(&self, host: Host, answer: impl Fn(&Asked, &mut dyn Write) + Send + Sync + 'static) -> Web {
        let at = format!("{}:80", host.address);
        Web::serve(Where { namespace: &self.namespace, at: &at, tls: None }, answer)
    }

    pub fn serve_tls(
        &self,
        host: Host,
        tls: Arc<ServerConfig>,
        answer: impl Fn(&Asked, &mut dyn Write) + Send + Sync + 'static,
    ) -> Web {
        let at = format!("{}:443", host.address);
        Web::serve(Where { namespace: &self.namespace, at: &at, tls: Some(tls) }, answer)
    }

    /// Answers whoever calls there with these words, whatever they say.
    pub fn answer(&self, at: &str, words: &'static str) {
        let at: SocketAddr = at.parse().expect("a test names an address");
        let listener = self.namespace.inside(|| TcpListener::bind(at).expect("nobody else listens there"));
        thread::spawn(move || {
            for mut caller in listener.incoming().flatten() {
                _ = caller.read(&mut [0; 4096]);
                _ = caller.write_all(words.as_bytes());
            }
        });
    }

    /// What comes without anything being said.
    pub fn order(&self, host: Host, path: &str) -> FetchOrder {
        self.order_at(&format!("http://{}/{path}", host.name))
    }

    pub fn order_at(&self, url: &str) -> FetchOrder {
        FetchOrder {
            url: url.parse().expect("a story names an url"),
            etag: None,
            last_modified: None,
            credentials: None,
            insecure: false,
            allow_private: false,
            own: Vec::new(),
            most_bytes: 1 << 20,
            patience: PATIENCE,
            api: None,
        }
    }

    pub fn fetch(&self, order: FetchOrder) -> Result<Fetched, FetchError> {
        self.fetcher.fetch(order)
    }

    /// All of it, or why not all.
    pub fn text(&self, order: FetchOrder) -> Result<String, FetchError> {
        let Fetched::Body(mut body) = self.fetch(order)? else { panic!("nothing is known of it") };
        let mut text = String::new();
        match body.read_to_string(&mut text) {
            Ok(_) => Ok(text),
            Err(error) => Err(FetchError::of(&error).expect("it tells why").clone()),
        }
    }

    /// Who starts the fetches: of all that do, the one whose hosts are these. It may just be coming.
    pub fn spawner(&self) -> u32 {
        // As mounts tell it: below the file system that it is on, which need not be that of all.
        let hosts = self.home.path("hosts");
        let home = hosts.parent().and_then(Path::file_name).expect("a home has a name");
        let hosts = format!("{}/hosts", home.to_str().expect("a name of letters"));
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            let mut all = fs::read_dir("/proc").expect("it is there").flatten();
            let found = all.find_map(|process| {
                let is_called =
                    fs::read_to_string(process.path().join("comm")).ok()?.trim() == "filterd-fetcher";
                let mounts =
                    fs::read_to_string(process.path().join("mountinfo")).ok().filter(|_| is_called)?;
                mounts.contains(&hosts).then(|| process.file_name().to_str()?.parse().ok())?
            });
            if let Some(spawner) = found {
                return spawner;
            }
        }
        panic!("nobody starts fetches here");
    }
}

/// Starts a fetcher that finds the names of this home, and trusts whom it trusts.
fn begin(namespace: &Namespace, home: &Home, configuration: Option<&Path>) -> Fetcher {
    let [hosts, resolv, trusted] = ["hosts", "resolv.conf", "trusted.pem"].map(|name| home.path(name));
    namespace.inside(|| {
        unshare(CloneFlags::CLONE_NEWNS).expect("root may make a namespace");
        let none = None::<&str>;
        mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none).expect("root may mount");
        for (ours, theirs) in [(&hosts, "/etc/hosts"), (&resolv, "/etc/resolv.conf")] {
            // A guest has none.
            File::options().append(true).create(true).open(theirs).expect("root may write there");
            mount(Some(ours), theirs, none, MsFlags::MS_BIND, none).expect("root may mount");
        }
        let mut command = Command::new(harness::home::binary());
        command.env("SSL_CERT_FILE", &trusted).env_remove("SSL_CERT_DIR");
        Fetcher::begin(command, configuration, None, &[]).expect("it can be started")
    })
}

/// All that was asked for, and nothing wrong with it.
pub fn ok(to: &mut dyn Write, headers: &str, body: &[u8]) {
    let head = format!("HTTP/1.1 200 OK\r\n{headers}Content-Length: {}\r\n\r\n", body.len());
    _ = to.write_all(head.as_bytes());
    _ = to.write_all(body);
}

pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packer = GzEncoder::new(Vec::new(), Compression::best());
    packer.write_all(bytes).expect("a vector grows");
    packer.finish().expect("a vector grows")
}
