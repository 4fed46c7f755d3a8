//! How much of a message is parsed; what lies beyond is left as it is and named in the defects.

/// Header fields of one header block.
pub(crate) const FIELDS_MAX: usize = 1_000;
/// Multipart parts inside each other.
pub(crate) const DEPTH_MAX: usize = 100;
/// Parts in all, multipart ones included.
pub(crate) const PARTS_MAX: usize = 1_000;
/// Octets of a line without its end, by RFC 5322 section 2.1.1; longer ones are parsed and named.
pub(crate) const LINE_MAX: usize = 998;
/// Characters of a link.
pub(crate) const LINK_MAX: usize = 2_048;
/// Defects that are told.
pub(crate) const DEFECTS_MAX: usize = 100;
