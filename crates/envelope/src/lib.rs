//! Seal and open the v1 encrypted payload.
pub mod digest {
    //! Digests.
    /// SHA-256.
    pub fn sha256(bytes: &[u8]) -> [u8; 32] {
        aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, bytes).as_ref().try_into().expect("32 bytes")
    }
}
/// An ML-KEM-768 encapsulation key.
#[derive(Debug, Clone)]
pub struct EncapsulationKey(Vec<u8>);
impl EncapsulationKey {
    /// The 1184 bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}
/// Which wire profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WireProfile {
    /// Ours.
    Service,
    /// The peer's.
    VaultSandbox,
}
