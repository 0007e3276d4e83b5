//! Writes small databases in MaxMind's format, for tests of what reads them: those of the daemon's own units, too.

use std::collections::HashMap;
use std::net::IpAddr;

/// A value of a record.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Value {
    /// A text.
    Text(String),
    /// A number of 32 bits, in no more bytes than it needs.
    Number(u32),
    /// One of 16 bits.
    Short(u16),
    /// One of 64 bits.
    Long(u64),
    /// A map.
    Map(Vec<(String, Value)>),
    /// Values in a row.
    List(Vec<Value>),
}

/// A database in the making.
pub struct Mmdb {
    /// What it says that it is.
    pub kind: &'static str,
    /// When it was built.
    pub built: u64,
    /// 24, 28 or 32.
    pub record_bits: u16,
    /// Four or six: with six, IPv4 lies below `::/96`.
    pub version: u16,
    /// Do 6to4, Teredo and mapped addresses lead to IPv4 again, as in MaxMind's own?
    pub has_aliases: bool,
    pub(crate) nodes: Vec<[Record; 2]>,
    pub(crate) values: Vec<Value>,
    pub(crate) numbers: HashMap<Value, usize>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Record {
    Nothing,
    Node(usize),
    Value(usize),
}

/// A map of one text.
pub fn text(key: &str, value: &str) -> Value {
    map([(key, Value::Text(value.to_owned()))])
}

/// A map.
pub fn map<const N: usize>(fields: [(&str, Value); N]) -> Value {
    Value::Map(fields.map(|(key, value)| (key.to_owned(), value)).into())
}

/// The record of a country as MaxMind and DB-IP have it.
pub fn country(code: &str) -> Value {
    let names = map([
        ("de", Value::Text(format!("{code} auf Deutsch"))),
        ("en", Value::Text(format!("{code} in English"))),
    ]);
    let continent = map([("code", Value::Text("XX".to_owned())), ("geoname_id", Value::Number(6_255_147))]);
    let country = map([
        ("geoname_id", Value::Number(1_814_991)),
        ("iso_code", Value::Text(code.to_owned())),
        ("names", names),
    ]);
    map([("continent", continent), ("country", country.clone()), ("registered_country", country)])
}

/// The record of a network as MaxMind and DB-IP have it.
pub fn autonomous(number: u32) -> Value {
    map([
        ("autonomous_system_number", Value::Number(number)),
        ("autonomous_system_organization", Value::Text(format!("Network {number}, Ltd."))),
    ])
}

impl Mmdb {
    /// An empty one of both families, as published ones are.
    pub fn new(kind: &'static str) -> Self {
        Self {
            kind,
            built: 1_795_219_200,
            record_bits: 24,
            version: 6,
            has_aliases: true,
            nodes: vec![[Record::Nothing; 2]],
            values: Vec::new(),
            numbers: HashMap::new(),
        }
    }

    /// Puts a network in, as in `1.2.0.0/16`, over what was there.
    pub fn with(mut self, prefix: &str, value: &Value) -> Self {
        self.put(prefix, value);
        self
    }

    /// The same.
    pub fn put(&mut self, prefix: &str, value: &Value) {
        let (address, length) = prefix.split_once('/').unwrap_or((prefix, "128"));
        let length: u32 = length.parse().expect("a length");
        let (bits, length, total) = match address.parse().expect("an address") {
            IpAddr::V4(address) if self.version == 4 => (u128::from(address.to_bits()), length.min(32), 32),
            IpAddr::V4(address) => (u128::from(address.to_bits()), length.min(32) + 96, 128),
            IpAddr::V6(address) => (address.to_bits(), length, 128),
        };
        let number = self.number(value);
        self.set(bits, length, total, Record::Value(number));
    }

    fn number(&mut self, value: &Value) -> usize {
        if let Some(number) = self.numbers.get(value) {
            return *number;
        }
        self.values.push(value.clone());
        self.numbers.insert(value.clone(), self.values.len() - 1);
        self.values.len() - 1
    }

    fn set(&mut self, bits: u128, length: u32, total: u32, record: Record) {
        let bit = |depth: u32| (bits >> (total - 1 - depth) & 1) as usize;
        let mut node = 0;
        for depth in 0..length - 1 {
            node = match self.nodes[node][bit(depth)] {
                Record::Node(next) => next,
                // What was wider goes on beside it.
                wider => {
                    self.nodes.push([wider; 2]);
                    let next = self.nodes.len() - 1;
                    self.nodes[node][bit(depth)] = Record::Node(next);
                    next
                }
            };
        }
        self.nodes[node][bit(length - 1)] = record;
    }

    /// The file.
    pub fn bytes(mut self) -> Vec<u8> {
        if self.has_aliases && self.version == 6 {
            let mut record = Record::Node(0);
            for _ in 0..96 {
                let Record::Node(node) = record else { break };
                record = self.nodes[node][0];
            }
            self.set(0xffff << 32, 96, 128, record);
            self.set(0x2001 << 112, 32, 128, record);
            self.set(0x2002 << 112, 16, 128, record);
        }
        let (mut data, mut written) = (Vec::new(), Written::default());
        let offsets: Vec<usize> = self.values.iter().map(|value| written.append(value, &mut data)).collect();
        let mut bytes = self.tree(&offsets);
        bytes.extend([0; 16]);
        bytes.extend(data);
        bytes.extend(b"\xab\xcd\xefMaxMind.com");
        let mut description = Vec::new();
        Written::default().append(&self.description(), &mut description);
        bytes.extend(description);
        bytes
    }

    fn description(&self) -> Value {
        map([
            ("binary_format_major_version", Value::Short(2)),
            ("binary_format_minor_version", Value::Short(0)),
            ("build_epoch", Value::Long(self.built)),
            ("database_type", Value::Text(self.kind.to_owned())),
            ("description", text("en", "Written for tests")),
            ("ip_version", Value::Short(self.version)),
            ("languages", Value::List(vec![Value::Text("en".to_owned())])),
            ("node_count", Value::Number(self.nodes.len() as u32)),
            ("record_size", Value::Short(self.record_bits)),
        ])
    }

    fn tree(&self, offsets: &[usize]) -> Vec<u8> {
        let count = self.nodes.len();
        let word = |record: &Record| match record {
            Record::Nothing => count as u32,
            Record::Node(node) => *node as u32,
            Record::Value(number) => (count + 16 + offsets[*number]) as u32,
        };
        let mut bytes = Vec::new();
        for node in &self.nodes {
            let [left, right] = [word(&node[0]), word(&node[1])];
            let ([a, b, c, d], [e, f, g, h]) = (left.to_be_bytes(), right.to_be_bytes());
            match self.record_bits {
                24 => bytes.extend([b, c, d, f, g, h]),
                28 => bytes.extend([b, c, d, a << 4 | e, f, g, h]),
                _ => bytes.extend([a, b, c, d, e, f, g, h]),
            }
        }
        bytes
    }
}

/// Where texts and maps were written, to be pointed to when they come again.
#[derive(Default)]
struct Written(HashMap<Value, usize>);

impl Written {
    /// Writes a value behind what is there, and says where it begins.
    fn append(&mut self, value: &Value, data: &mut Vec<u8>) -> usize {
        let at = data.len();
        match value {
            Value::Text(text) => {
                control(2, text.len(), data);
                data.extend(text.bytes());
            }
            Value::Short(number) => integer(5, &number.to_be_bytes(), data),
            Value::Number(number) => integer(6, &number.to_be_bytes(), data),
            Value::Long(number) => integer(9, &number.to_be_bytes(), data),
            Value::List(values) => {
                control(11, values.len(), data);
                values.iter().for_each(|value| self.point_or_append(value, data));
            }
            Value::Map(fields) => {
                control(7, fields.len(), data);
                for (key, value) in fields {
                    self.point_or_append(&Value::Text(key.clone()), data);
                    self.point_or_append(value, data);
                }
            }
        }
        at
    }

    fn point_or_append(&mut self, value: &Value, data: &mut Vec<u8>) {
        let is_small = matches!(value, Value::Short(_) | Value::Number(_) | Value::Long(_));
        match self.0.get(value) {
            Some(at) if !is_small => pointer(*at, data),
            _ => {
                let at = self.append(value, data);
                self.0.insert(value.clone(), at);
            }
        }
    }
}

fn integer(kind: usize, bytes: &[u8], data: &mut Vec<u8>) {
    let from = bytes.iter().position(|byte| *byte != 0).unwrap_or(bytes.len());
    control(kind, bytes.len() - from, data);
    data.extend(&bytes[from..]);
}

fn control(kind: usize, size: usize, data: &mut Vec<u8>) {
    let high = if kind <= 7 { (kind as u8) << 5 } else { 0 };
    let extended = (kind > 7).then(|| kind as u8 - 7);
    let (low, more) = match size {
        ..29 => (size as u8, Vec::new()),
        29..285 => (29, vec![(size - 29) as u8]),
        _ => (30, ((size - 285) as u16).to_be_bytes().to_vec()),
    };
    data.push(high | low);
    data.extend(extended);
    data.extend(more);
}

fn pointer(at: usize, data: &mut Vec<u8>) {
    let word = |base: usize| ((at - base) as u32).to_be_bytes();
    match at {
        ..2048 => data.extend([0x20 | (at >> 8) as u8, at as u8]),
        2048..526_336 => {
            let [_, a, b, c] = word(2048);
            data.extend([0x28 | a, b, c]);
        }
        526_336..134_744_064 => {
            let [a, b, c, d] = word(526_336);
            data.extend([0x30 | a, b, c, d]);
        }
        _ => {
            data.push(0x38);
            data.extend(word(0));
        }
    }
}
