//! The head of an input: bytes that choose, before bytes that are parsed.

/// Takes the head off; zeros stand in where the input is too short.
pub(crate) fn split<const N: usize>(input: &[u8]) -> ([u8; N], &[u8]) {
    let (given, rest) = input.split_at(input.len().min(N));
    let mut head = [0; N];
    head[..given.len()].copy_from_slice(given);
    (head, rest)
}

/// Cuts bytes into pieces of these sizes, again and again; zero stands for all that is left.
pub(crate) fn pieces<'a>(bytes: &'a [u8], sizes: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
    let mut rest = bytes;
    let mut sizes = sizes.iter().cycle();
    std::iter::from_fn(move || {
        let size = match sizes.next() {
            None | Some(0) => rest.len(),
            Some(&size) => rest.len().min(usize::from(size)),
        };
        let (piece, after) = rest.split_at(size);
        rest = after;
        (!piece.is_empty()).then_some(piece)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_input_has_a_head_of_zeros() {
        assert_eq!(split::<3>(b"ab"), ([b'a', b'b', 0], &b""[..]));
        assert_eq!(split::<1>(b"ab"), ([b'a'], &b"b"[..]));
    }

    #[test]
    fn pieces_are_all_of_the_bytes() {
        let cut = |sizes: &[u8]| pieces(b"abcdef", sizes).map(<[u8]>::to_vec).collect::<Vec<_>>();
        assert_eq!(cut(&[0]), [b"abcdef"]);
        assert_eq!(cut(&[4, 1]), [&b"abcd"[..], b"e", b"f"]);
        assert_eq!(cut(&[1, 0]), [&b"a"[..], b"bcdef"]);
        assert_eq!(cut(&[]), [b"abcdef"]);
    }
}
