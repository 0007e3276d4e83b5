//! Paths in JSON: a string, or the bytes of a path that is not UTF-8.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
pub enum PathText {
    Text(String),
    Bytes(Vec<u8>),
}

impl From<&Path> for PathText {
    fn from(path: &Path) -> Self {
        path.to_str().map_or_else(
            || Self::Bytes(path.as_os_str().as_bytes().to_vec()),
            |text| Self::Text(text.to_owned()),
        )
    }
}

impl From<PathText> for PathBuf {
    fn from(path: PathText) -> Self {
        match path {
            PathText::Text(text) => text.into(),
            PathText::Bytes(bytes) => OsStr::from_bytes(&bytes).into(),
        }
    }
}
