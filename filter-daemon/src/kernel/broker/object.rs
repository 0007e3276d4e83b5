//! The compiled programs. They are embedded compressed, and each is decompressed when it is first needed.

use std::io::Read;
use std::sync::LazyLock;

use flate2::read::ZlibDecoder;

pub static ROOT: LazyLock<Vec<u8>> =
    LazyLock::new(|| decompressed(include_bytes!(concat!(env!("OUT_DIR"), "/root.z"))));
pub static ROOT_TC: LazyLock<Vec<u8>> =
    LazyLock::new(|| decompressed(include_bytes!(concat!(env!("OUT_DIR"), "/root-tc.z"))));
pub static JUDGE: LazyLock<Vec<u8>> =
    LazyLock::new(|| decompressed(include_bytes!(concat!(env!("OUT_DIR"), "/judge.z"))));
pub static JUDGE_TC: LazyLock<Vec<u8>> =
    LazyLock::new(|| decompressed(include_bytes!(concat!(env!("OUT_DIR"), "/judge-tc.z"))));
pub static CONNECT: LazyLock<Vec<u8>> =
    LazyLock::new(|| decompressed(include_bytes!(concat!(env!("OUT_DIR"), "/connect.z"))));
pub static EGRESS: LazyLock<Vec<u8>> =
    LazyLock::new(|| decompressed(include_bytes!(concat!(env!("OUT_DIR"), "/egress.z"))));

fn decompressed(bytes: &[u8]) -> Vec<u8> {
    let mut object = Vec::new();
    ZlibDecoder::new(bytes).read_to_end(&mut object).expect("the build has compressed it");
    object
}
