//! What a disk was told, in order, and what a power cut leaves of it.

use std::fs::File;
use std::io;
use std::ops::RangeInclusive;
use std::os::unix::fs::FileExt as _;
use std::sync::{Mutex, PoisonError};

use crate::probe::dice::Dice;

/// What a disk writes in one piece.
const SECTOR: usize = 512;

/// One thing that a disk was told, and did.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Event {
    Write {
        offset: u64,
        bytes: Vec<u8>,
    },
    /// All that was written before is on the medium.
    Flush,
}

/// A disk's history since it was switched on.
#[derive(Debug, Default)]
pub(super) struct Recording {
    events: Mutex<Vec<Event>>,
}

/// How much of a recording was on the medium for certain, and how much was not.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Cut {
    /// Writes that were flushed.
    pub(super) flushed: usize,
    /// Writes that were not, and how they ended.
    pub(super) whole: usize,
    pub(super) torn: usize,
    pub(super) lost: usize,
}

impl Cut {
    /// Writes that were not flushed.
    pub(super) fn unflushed(&self) -> usize {
        self.whole + self.torn + self.lost
    }

    pub(super) fn add(&mut self, other: Self) {
        self.flushed += other.flushed;
        self.whole += other.whole;
        self.torn += other.torn;
        self.lost += other.lost;
    }
}

impl Recording {
    pub(super) fn wrote(&self, offset: u64, bytes: &[u8]) {
        let bytes = bytes.to_vec();
        self.with(|events| events.push(Event::Write { offset, bytes }));
    }

    pub(super) fn flushed(&self) {
        self.with(|events| events.push(Event::Flush));
    }

    /// A moment: how many events there were.
    pub(super) fn position(&self) -> usize {
        self.with(|events| events.len())
    }

    /// Of these positions those that stand between a write and its flush, and how many writes are not flushed there.
    pub(super) fn unflushed(&self, positions: RangeInclusive<usize>) -> Vec<(usize, usize)> {
        self.with(|events| {
            let outstanding = |position: usize| {
                let before = events[..position].iter().rev();
                before.take_while(|event| **event != Event::Flush).count()
            };
            let counted = positions.map(|position| (position, outstanding(position)));
            counted.filter(|(_, writes)| *writes > 0).collect()
        })
    }

    /// Brings an image of the medium, as it was at the beginning, to where a power cut at the position leaves it.
    ///
    /// Of writes behind the last flush each is there, or not, or some of its sectors are.
    pub(super) fn cut(&self, position: usize, image: &File, dice: &mut Dice) -> io::Result<Cut> {
        self.with(|events| {
            let events = &events[..position];
            let flush = events.iter().rposition(|event| *event == Event::Flush).unwrap_or(0);
            let mut cut = Cut::default();
            for (number, event) in events.iter().enumerate() {
                let Event::Write { offset, bytes } = event else {
                    continue;
                };
                if number < flush {
                    cut.flushed += 1;
                    image.write_all_at(bytes, *offset)?;
                    continue;
                }
                match dice.below(3) {
                    0 => cut.lost += 1,
                    1 => {
                        cut.whole += 1;
                        image.write_all_at(bytes, *offset)?;
                    }
                    _ => {
                        cut.torn += 1;
                        let sectors = (*offset..).step_by(SECTOR).zip(bytes.chunks(SECTOR));
                        for (offset, sector) in sectors.filter(|_| dice.below(2) == 0) {
                            image.write_all_at(sector, offset)?;
                        }
                    }
                }
            }
            Ok(cut)
        })
    }

    fn with<T>(&self, work: impl FnOnce(&mut Vec<Event>) -> T) -> T {
        work(&mut self.events.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The image after a cut at the position, for each of many dice.
    fn images(recording: &Recording, position: usize) -> Vec<Vec<u8>> {
        let image = |seed| {
            let file = tempfile::tempfile().unwrap();
            file.set_len(4 * SECTOR as u64).unwrap();
            recording.cut(position, &file, &mut Dice::seeded(seed)).unwrap();
            let mut bytes = vec![0; 4 * SECTOR];
            file.read_exact_at(&mut bytes, 0).unwrap();
            bytes
        };
        (0..40).map(image).collect()
    }

    #[test]
    fn what_was_flushed_is_there_and_the_rest_is_not_certain() {
        let recording = Recording::default();
        recording.wrote(0, &[1; SECTOR]);
        recording.flushed();
        recording.wrote(SECTOR as u64, &[2; 2 * SECTOR]);
        let position = recording.position();
        recording.wrote(3 * SECTOR as u64, &[3; SECTOR]);
        recording.flushed();

        let images = images(&recording, position);
        let is_at = |image: &[u8], sector: usize, byte| image[sector * SECTOR..][..SECTOR] == [byte; SECTOR];
        assert!(images.iter().all(|image| is_at(image, 0, 1)), "it was flushed");
        assert!(images.iter().all(|image| is_at(image, 3, 0)), "it came later");
        for expected in [[0, 0], [2, 2], [2, 0], [0, 2]] {
            let is_seen = |image: &Vec<u8>| is_at(image, 1, expected[0]) && is_at(image, 2, expected[1]);
            assert!(images.iter().any(is_seen), "{expected:?} is never seen");
        }
    }

    #[test]
    fn positions_between_a_write_and_its_flush_are_known() {
        let recording = Recording::default();
        recording.wrote(0, &[1; SECTOR]);
        recording.wrote(0, &[2; SECTOR]);
        recording.flushed();
        recording.wrote(0, &[3; SECTOR]);
        assert_eq!(recording.unflushed(0..=recording.position()), [(1, 1), (2, 2), (4, 1)]);
        assert_eq!(recording.unflushed(2..=3), [(2, 2)]);
    }

    #[test]
    fn what_is_written_again_is_as_it_was_last() {
        let recording = Recording::default();
        recording.wrote(0, &[1; SECTOR]);
        recording.wrote(0, &[2; SECTOR]);
        recording.flushed();
        let images = images(&recording, recording.position());
        assert!(images.iter().all(|image| image[..SECTOR] == [2; SECTOR]));
    }
}
