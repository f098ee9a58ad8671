//! Key exchange on the curve P-521, which the TLS library lacks.
//!
//! Go's servers accept it from clients that offer nothing else, so some clients depend on it.

use std::fmt;

use aws_lc_rs::agreement::{self, ECDH_P521, EphemeralPrivateKey, PublicKey, UnparsedPublicKey};
use aws_lc_rs::rand::SystemRandom;
use rustls::crypto::{ActiveKeyExchange, GetRandomFailed, SharedSecret, SupportedKxGroup};
use rustls::ffdhe_groups::FfdheGroup;
use rustls::{Error, NamedGroup, PeerMisbehaved};

/// Group `secp521r1` of RFC 8422 and RFC 8446, with a new key for every connection.
pub(super) static SECP521R1: &dyn SupportedKxGroup = &Group;

/// Length in bytes of an uncompressed point: its form and two coordinates of 521 bits. Both TLS versions use
/// only this encoding.
const POINT: usize = 1 + 2 * 66;

struct Group;

impl fmt::Debug for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.name().fmt(f)
    }
}

impl SupportedKxGroup for Group {
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
        let private =
            EphemeralPrivateKey::generate(&ECDH_P521, &SystemRandom::new()).map_err(|_| GetRandomFailed)?;
        let public = private.compute_public_key().map_err(|_| GetRandomFailed)?;
        Ok(Box::new(Exchange { private, public }))
    }

    fn ffdhe_group(&self) -> Option<FfdheGroup<'static>> {
        None
    }

    fn name(&self) -> NamedGroup {
        NamedGroup::secp521r1
    }
}

/// Key exchange that waits for the peer's share.
struct Exchange {
    private: EphemeralPrivateKey,
    public: PublicKey,
}

impl ActiveKeyExchange for Exchange {
    fn complete(self: Box<Self>, peer: &[u8]) -> Result<SharedSecret, Error> {
        let refused = || Error::from(PeerMisbehaved::InvalidKeyShare);
        if peer.len() != POINT || peer.first() != Some(&4) {
            return Err(refused());
        }
        let peer = UnparsedPublicKey::new(&ECDH_P521, peer);
        agreement::agree_ephemeral(self.private, peer, refused(), |secret| Ok(SharedSecret::from(secret)))
    }

    fn ffdhe_group(&self) -> Option<FfdheGroup<'static>> {
        None
    }

    fn group(&self) -> NamedGroup {
        NamedGroup::secp521r1
    }

    fn pub_key(&self) -> &[u8] {
        self.public.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_come_to_the_same_secret() -> Result<(), Error> {
        let client = SECP521R1.start()?;
        let server = SECP521R1.start()?;
        let client_share = client.pub_key().to_vec();
        let server_share = server.pub_key().to_vec();
        assert_eq!((client_share.len(), client_share.first()), (POINT, Some(&4)));
        let client_secret = client.complete(&server_share)?;
        let server_secret = server.complete(&client_share)?;
        assert_eq!(client_secret.secret_bytes(), server_secret.secret_bytes());
        assert_eq!(client_secret.secret_bytes().len(), 66);
        Ok(())
    }

    #[test]
    fn invalid_points_are_rejected() -> Result<(), Error> {
        let peer = SECP521R1.start()?.pub_key().to_vec();
        let check = |peer: &[u8]| {
            let got = SECP521R1.start().and_then(|exchange| exchange.complete(peer)).err();
            assert_eq!(got, Some(PeerMisbehaved::InvalidKeyShare.into()), "{peer:?}");
        };
        let mut off = peer.clone();
        if let Some(last) = off.last_mut() {
            *last ^= 1;
        }
        check(&off);
        check(&[]);
        check(&[4]);
        let mut compressed = peer[..67].to_vec();
        compressed[0] = 2;
        check(&compressed);
        check(&peer[..POINT - 1]);
        Ok(())
    }
}
