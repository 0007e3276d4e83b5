//! Tests of state directories that a filterd before generations wrote. `tests/fixtures/README.md` says how they
//! were made.

use super::*;

/// A state directory of an earlier filterd.
#[derive(Clone, Copy, Debug)]
pub(super) struct Landed {
    directory: &'static str,
    /// The stage in its note of a trial, if it has one.
    stage: Option<&'static str>,
}

pub(super) const PLAIN: Landed = Landed { directory: "plain", stage: None };
pub(super) const ON_TRIAL: Landed = Landed { directory: "trial", stage: Some("false") };
pub(super) const CONFIRMED: Landed = Landed { directory: "trial", stage: Some("confirmed") };
pub(super) const ROLLED_BACK: Landed = Landed { directory: "plain", stage: Some("true") };

/// The file that the configurations are copies of.
const FILE: &str = "/tmp/fx/conf/filterd.yaml";

impl Landed {
    pub(super) fn copy_to(self, state: &Path) {
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/state-1");
        let from = fixtures.join(self.directory);
        for directory in ["", "lists"] {
            fs::create_dir_all(state.join(directory)).unwrap();
            for file in fs::read_dir(from.join(directory)).unwrap().flatten() {
                if file.path().is_file() {
                    let to = state.join(directory).join(file.file_name());
                    fs::copy(file.path(), &to).unwrap();
                    fs::set_permissions(&to, fs::Permissions::from_mode(0o600)).unwrap();
                }
            }
        }
        if let Some(stage) = self.stage {
            let note = fs::read_to_string(fixtures.join("trial/trial")).unwrap();
            fs::write(state.join("trial"), note.replacen(" false ", &format!(" {stage} "), 1)).unwrap();
        }
    }
}

impl Place {
    fn carried(landed: Landed) -> Self {
        let place = Self::new();
        landed.copy_to(place.state.path());
        let carried = place.store.carry_over().unwrap();
        assert!(carried.damaged.is_empty(), "{carried:?}");
        place
    }

    /// The lists of a generation with their numbers of targets.
    fn named(&self, name: GenerationName) -> Vec<(String, usize)> {
        let lists = self.lists(name);
        let mut named: Vec<_> =
            lists.iter().map(|list| (list.name.to_string(), self.targets(list).unwrap())).collect();
        named.sort();
        named
    }

    fn config(&self, name: GenerationName) -> String {
        let generation = self.store.read(name).generation().unwrap();
        assert!(generation.is_of(Path::new(FILE)));
        self.store.text_of(&generation.config.unwrap()).unwrap().text
    }

    fn files(&self) -> Vec<String> {
        let files = fs::read_dir(self.state.path()).unwrap().flatten();
        let mut names: Vec<_> = files.map(|file| file.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    fn choice(&self, boot: &str) -> StartChoice {
        let [trial, rejected] =
            [GenerationName::Trial, GenerationName::Rejected].map(|name| (&self.store.read(name)).into());
        at_start(trial, rejected, PresentBoot { id: boot, now: 0 }, || FoundFile::Unusable)
    }
}

fn row(name: &str, targets: usize) -> (String, usize) {
    (name.to_owned(), targets)
}

#[test]
fn lists_and_configuration_are_carried_over() {
    let place = Place::carried(PLAIN);
    let expected = [row("brief", 1), row("drop", 3), row("friends", 1), row("seen", 3)];
    assert_eq!(place.named(GenerationName::Current), expected);
    assert!(place.config(GenerationName::Current).contains("{name: friends"));
    assert_eq!(place.choice("any"), StartChoice::TakeFile);
    let current = place.current();
    let list = |name: &str| current.iter().find(|list| *list.name == *name).unwrap();
    assert_eq!(list("friends").meaning.map(|meaning| meaning.allows()), Some(true));
    assert_eq!(list("seen").term.map(|term| term.ttl), Some(Duration::from_secs(3650 * 24 * 3600)));
    assert_eq!(list("drop").term, None);
    // Its entries were added at two moments, and end at two.
    let times = place.store.times(list("seen")).unwrap().unwrap();
    assert_eq!((times.len(), times.runs.len()), (3, 2));
    assert_eq!(place.files(), ["blobs", "configuration.yaml", "current", "lists"]);
    place.store.end_carry_over();
    assert_eq!(place.files(), ["blobs", "current"]);
    assert_eq!(place.named(GenerationName::Current), expected);
}

/// On trial, "drop" is called "spamhaus", "friends" is gone, and "tried" is new.
#[test]
fn trial_is_carried_over() {
    let place = Place::carried(ON_TRIAL);
    let before = [row("brief", 1), row("drop", 3), row("friends", 1), row("seen", 3)];
    let tried = [row("brief", 1), row("seen", 3), row("spamhaus", 3), row("tried", 1)];
    assert_eq!(place.named(GenerationName::Current), before);
    assert_eq!(place.named(GenerationName::Trial), tried);
    assert!(place.config(GenerationName::Current).contains("198.51.100.7"));
    assert!(place.config(GenerationName::Trial).contains("198.51.100.8"));
    let boot = place.store.read(GenerationName::Trial).generation().unwrap().trial.unwrap().boot;
    assert!(matches!(place.choice(&boot), StartChoice::GoOn(head, _) if head.by == "root (filterd reload)"));
    assert!(matches!(place.choice("another boot"), StartChoice::RollBack(_)));
}

#[test]
fn confirmed_trial_is_carried_over_as_current() {
    let place = Place::carried(CONFIRMED);
    let lists: Vec<_> = place.named(GenerationName::Current).into_iter().map(|(name, _)| name).collect();
    // The next save removes those that the configuration does not name.
    assert_eq!(lists, ["brief", "drop", "friends", "seen", "spamhaus", "tried"]);
    assert!(place.config(GenerationName::Current).contains("198.51.100.8"));
    assert_eq!(place.choice("any"), StartChoice::TakeFile);
}

#[test]
fn rolled_back_trial_stays_rolled_back() {
    let place = Place::carried(ROLLED_BACK);
    assert!(matches!(place.choice("any"), StartChoice::StayRolledBack(head) if head.file == 0xbd2a_4028));
}

#[test]
fn damaged_copies_are_carried_over_as_damaged() {
    let place = Place::new();
    PLAIN.copy_to(place.state.path());
    let lists = place.state.path().join("lists");
    let path_of = |name: &str| {
        let is_it = |path: &std::path::PathBuf| {
            String::from_utf8_lossy(&fs::read(path).unwrap()).contains(&format!("\nname {name}\n"))
        };
        fs::read_dir(&lists).unwrap().flatten().map(|file| file.path()).find(is_it).unwrap()
    };
    let damage = |path: &Path, at: usize| {
        let mut bytes = fs::read(path).unwrap();
        bytes[at] ^= 1;
        fs::write(path, bytes).unwrap();
    };
    let (without_name, without_list) = (path_of("friends"), path_of("drop"));
    damage(&without_name, 60);
    damage(&without_list, 8192);
    fs::write(place.state.path().join("configuration.yaml"), "damaged").unwrap();
    fs::write(place.state.path().join("trial"), "damaged").unwrap();
    assert_eq!(place.store.carry_over().unwrap().damaged, [without_name]);
    let current = place.current();
    assert_eq!(current.len(), 3);
    for list in &current {
        let is_damaged = matches!(place.targets(list), Err(CopyError::Damaged));
        assert_eq!(is_damaged, *list.name == *"drop", "{}", list.name);
    }
    assert_eq!(place.store.read(GenerationName::Current).generation().unwrap().config, None);
    assert!(matches!(place.choice("any"), StartChoice::RollBack(_)));
}

/// A start that fails leaves what an earlier filterd can use.
#[test]
fn carrying_over_can_be_undone() {
    let place = Place::carried(PLAIN);
    place.store.undo_carry_over();
    assert_eq!(place.files(), ["configuration.yaml", "lists"]);
    let again = Place::carried(PLAIN);
    again.store.end_carry_over();
    again.store.undo_carry_over();
    assert_eq!(again.files(), ["blobs", "current"], "nothing else has what is there");
}
