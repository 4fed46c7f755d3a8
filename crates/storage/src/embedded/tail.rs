//! What stands behind a record that cannot be read: the rest of a torn write, or mail that was acknowledged.
//!
//! The bytes may come from a sender who wishes for a slow start. Whatever they are, each is read about once, and what
//! looks like a record costs no read of its own and at most the checksum of the longest head.

use std::io;
use std::ops::{Range, RangeInclusive};

use super::frame::{FRAME, Frame, HEAD_MAX, Salt};

/// Places that are looked at with one read.
const STEP: usize = 64 * 1024;
/// A read goes so much further that the frame and the head at the last of them are in it.
const WINDOW: usize = STEP + FRAME + HEAD_MAX as usize;

/// Whether the tail holds a record whose group began behind the tail's start.
///
/// `read_at` fills a buffer from an offset of the file on, and says how much there was.
pub(super) fn has_later_group(
    tail: Range<u64>,
    salt: Salt,
    read_at: impl FnMut(&mut [u8], u64) -> io::Result<usize>,
) -> io::Result<bool> {
    let first = tail.start + 1;
    Ok(find(tail, |bytes, at| is_record(bytes, first..=at, salt), read_at)?.is_some())
}

/// Where the first record behind the start of a range begins, whatever its group.
pub(super) fn next_record(
    behind: Range<u64>,
    salt: Salt,
    read_at: impl FnMut(&mut [u8], u64) -> io::Result<usize>,
) -> io::Result<Option<u64>> {
    find(behind, |bytes, _| is_record(bytes, 0..=u64::MAX, salt), read_at)
}

/// The first offset behind the start of a range whose bytes are what is looked for.
fn find(
    range: Range<u64>,
    is_it: impl Fn(&[u8], u64) -> bool,
    mut read_at: impl FnMut(&mut [u8], u64) -> io::Result<usize>,
) -> io::Result<Option<u64>> {
    let mut window = vec![0; WINDOW];
    for from in (range.start + 1..range.end).step_by(STEP) {
        let read = read_at(&mut window, from)?;
        let mut places = (0..read.min(STEP)).zip(from..);
        if let Some((_, at)) = places.find(|(skip, at)| is_it(&window[*skip..read], *at)) {
            return Ok(Some(at));
        }
    }
    Ok(None)
}

/// Whether these bytes begin with the frame and the head of a record whose group began in that range.
fn is_record(bytes: &[u8], group: RangeInclusive<u64>, salt: Salt) -> bool {
    let Some((frame_bytes, rest)) = bytes.split_first_chunk() else {
        return false;
    };
    // The checksum comes last: it is the only part that takes time.
    Frame::decode(frame_bytes)
        .filter(|frame| group.contains(&frame.group))
        .and_then(|frame| frame.decode_head(salt, frame_bytes, rest.get(..frame.head as usize)?))
        .is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SALT: Salt = Salt(*b"saltsalt");
    const START: u64 = 1_000;

    /// What the search says of these bytes, which begin at [`START`], and how often it read.
    fn search(bytes: &[u8]) -> (bool, usize) {
        let mut reads = 0;
        let read_at = |buffer: &mut [u8], offset: u64| {
            reads += 1;
            let there = &bytes[usize::try_from(offset - START).unwrap()..];
            let read = there.len().min(buffer.len());
            buffer[..read].copy_from_slice(&there[..read]);
            Ok(read)
        };
        let found = has_later_group(START..START + bytes.len() as u64, SALT, read_at).unwrap();
        (found, reads)
    }

    fn record(group: u64) -> Vec<u8> {
        let head = [7].into_iter().chain([1; 16]).chain([0]).collect::<Vec<u8>>();
        let frame = Frame {
            head: 18,
            body: 0,
            following: 0,
            group,
        };
        [frame.encode(SALT, &head).as_slice(), &head].concat()
    }

    #[test]
    fn a_record_of_a_later_group_is_found_wherever_it_lies() {
        let around_the_edge = STEP - 50..STEP + 5;
        for at in (1..50).chain(around_the_edge).chain([WINDOW, 3 * STEP]) {
            let mut bytes = vec![0; at];
            bytes.extend(record(START + at as u64));
            assert!(search(&bytes).0, "{at}");
        }
    }

    #[test]
    fn records_of_no_later_group_prove_nothing() {
        let at = 50;
        for (group, is_later) in [
            (0, false),
            (START, false),
            (START + 1, true),
            (START + at, true),
            (START + at + 1, false),
            (u64::MAX, false),
        ] {
            let bytes = [vec![0; 50], record(group)].concat();
            assert_eq!(search(&bytes).0, is_later, "{group}");
        }
        let whole = record(START + 1);
        for end in 0..whole.len() {
            let bytes = [&[0; 50], &whole[..end]].concat();
            assert!(!search(&bytes).0, "{end}");
        }
    }

    #[test]
    fn what_only_looks_like_records_costs_no_reads() {
        for (head, group) in [(HEAD_MAX, START + 1), (HEAD_MAX + 1, START + 1), (u32::MAX, 1), (17, 0)] {
            let frame = Frame {
                head,
                body: 0,
                following: 0,
                group,
            };
            let bytes = frame.encode(Salt([0; 8]), b"").repeat(5_000);
            assert_eq!(search(&bytes), (false, bytes.len().div_ceil(STEP)), "{frame:?}");
        }
        assert_eq!(search(&b"rstR".repeat(STEP)), (false, 4));
    }
}
