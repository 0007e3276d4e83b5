//! Tests of requests to APIs. The certificates and keys in `pem` are for these tests alone.

use super::*;

pub const EC: &str = include_str!("pem/client.crt");
pub const EC_SEC1: &str = include_str!("pem/client.sec1.key");
pub const EC_PKCS8: &str = include_str!("pem/client.pkcs8.key");
pub const EC_ENCRYPTED: &str = include_str!("pem/client.encrypted.key");
const RSA: &str = include_str!("pem/rsa.crt");
const RSA_PKCS1: &str = include_str!("pem/rsa.pkcs1.key");
const RSA_PKCS8: &str = include_str!("pem/rsa.pkcs8.key");

pub fn request() -> ApiRequest {
    ApiRequest {
        body: None,
        identity: None,
        authority: None,
        agent: "crowdsec-filterd-bouncer/v1".to_owned(),
    }
}

pub fn identity(certificate: &str, key: &str) -> ClientIdentity {
    ClientIdentity { certificate: certificate.to_owned(), key: key.to_owned() }
}

#[test]
fn keys_of_each_form_are_accepted() {
    for (certificate, key) in [(EC, EC_SEC1), (EC, EC_PKCS8), (RSA, RSA_PKCS1), (RSA, RSA_PKCS8)] {
        assert_eq!(identity(certificate, key).check(), Ok(()), "{}", key.lines().next().unwrap());
        // Other programs write text around it, or both into one file.
        assert_eq!(
            identity(&format!("# ours\n{key}{certificate}"), &format!("{certificate}{key}")).check(),
            Ok(())
        );
    }
}

#[test]
fn unusable_certificates_and_keys_are_explained() {
    let cases = [
        (EC, RSA_PKCS8, UnusablePem::OtherKey),
        (EC, EC, UnusablePem::NoKey),
        (EC, "", UnusablePem::NoKey),
        (EC, EC_ENCRYPTED, UnusablePem::EncryptedKey),
        (EC_SEC1, EC_SEC1, UnusablePem::NoCertificate),
        ("", EC_SEC1, UnusablePem::NoCertificate),
        (&EC.replace("MII", "!!!"), EC_SEC1, UnusablePem::BadCertificate),
        (&EC.replace("MII", "MIA"), EC_SEC1, UnusablePem::BadCertificate),
    ];
    for (certificate, key, why) in cases {
        assert_eq!(identity(certificate, key).check(), Err(why));
    }
    let damaged = identity(EC, &EC_PKCS8.replace("MIG", "MIA")).check();
    assert!(matches!(damaged, Err(UnusablePem::BadKey(_))), "{damaged:?}");
}

#[test]
fn request_that_cannot_be_sent_is_refused_early() {
    let large = ApiRequest { body: Some(vec![b' '; LONGEST_BODY + 1]), ..request() };
    let agent = ApiRequest { agent: "a\nb".to_owned(), ..request() };
    let key = ApiRequest { identity: Some(identity(EC, RSA_PKCS1)), ..request() };
    let authority = ApiRequest { authority: Some(EC_SEC1.to_owned()), ..request() };
    for (request, why) in [
        (large, "its body has more than 32768 bytes"),
        (agent, "the name of the client"),
        (key, "the client certificate: it belongs to another private key"),
        (authority, "the file of the authority: there is no certificate"),
    ] {
        let told = request.check().unwrap_err().to_string();
        assert!(told.contains(why), "{told}");
    }
    let whole = ApiRequest {
        body: Some(b"{}".to_vec()),
        identity: Some(identity(EC, EC_SEC1)),
        authority: Some(format!("{EC}{RSA}")),
        ..request()
    };
    assert_eq!(whole.check(), Ok(()));
    assert_eq!(whole.authorities().unwrap().unwrap().len(), 2);
}

#[test]
fn client_certificates_are_never_shown() {
    let request =
        ApiRequest { body: Some(b"counted".to_vec()), identity: Some(identity(EC, EC_SEC1)), ..request() };
    let shown = format!("{request:?} {:?}", request.identity);
    assert!(shown.contains("POST") && !shown.contains("BEGIN") && !shown.contains("99"), "{shown}");
}
