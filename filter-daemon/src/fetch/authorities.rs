//! The certificate authorities that this system trusts, read before the process loses access to files.

use rustls_native_certs::load_native_certs;
use ureq::tls::Certificate;

/// The certificates, or why there are none.
pub type Authorities = Result<Vec<Certificate<'static>>, String>;

/// Reads the certificates. Single unreadable ones are skipped, as other programs do.
pub fn read() -> Authorities {
    let found = load_native_certs();
    if found.certs.is_empty() {
        let why = found.errors.first().map_or("there are no certificates".to_owned(), ToString::to_string);
        return Err(why);
    }
    Ok(found.certs.iter().map(|one| Certificate::from_der(one).to_owned()).collect())
}
