//! Whom this system trusts to say who is who: read before nothing can be read any more.

use rustls_native_certs::load_native_certs;
use ureq::tls::Certificate;

/// The certificates, or why there are none.
pub type Authorities = Result<Vec<Certificate<'static>>, String>;

/// Reads them. Single ones that cannot be read are left out, as everybody does.
pub fn read() -> Authorities {
    let found = load_native_certs();
    if found.certs.is_empty() {
        let why = found.errors.first().map_or("there are no certificates".to_owned(), ToString::to_string);
        return Err(why);
    }
    Ok(found.certs.iter().map(|one| Certificate::from_der(one).to_owned()).collect())
}
