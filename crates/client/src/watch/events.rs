//! From the bytes of an event stream to its events.
//!
//! Source: WHATWG HTML, section 9.2.6 "Interpreting an event stream".
//! The field `retry` is ignored: the settings of the client say when it reconnects.

use std::collections::VecDeque;

/// The longest line, and the most data of one event; a payload of the interface has some ten thousand bytes.
const MAX_BYTES: usize = 1 << 20;
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// One event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Event {
    /// Empty for an unnamed one.
    pub(super) name: String,
    /// The lines of its data, joined by LF.
    pub(super) data: String,
    /// The last id that the stream gave, to this event or one before.
    pub(super) id: String,
}

/// A line or the data of an event is longer than any of the interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooLong;

/// Reads a stream that comes in pieces cut anywhere.
#[derive(Debug, Default)]
pub(super) struct Events {
    line: Vec<u8>,
    /// The last byte was a CR: an LF now belongs to it.
    after_cr: bool,
    past_first_line: bool,
    event: Event,
    has_data: bool,
    ready: VecDeque<Event>,
}

impl Events {
    /// Takes the next piece.
    ///
    /// # Errors
    /// [`TooLong`]; nothing may be taken afterwards.
    pub(super) fn take(&mut self, mut piece: &[u8]) -> Result<(), TooLong> {
        if self.after_cr && !piece.is_empty() {
            self.after_cr = false;
            piece = piece.strip_prefix(b"\n").unwrap_or(piece);
        }
        while let Some(end) = piece.iter().position(|byte| matches!(byte, b'\r' | b'\n')) {
            self.extend_line(&piece[..end])?;
            self.end_line()?;
            let rest = &piece[end + 1..];
            let is_cr = piece[end] == b'\r';
            self.after_cr = is_cr && rest.is_empty();
            piece = if is_cr {
                rest.strip_prefix(b"\n").unwrap_or(rest)
            } else {
                rest
            };
        }
        self.extend_line(piece)
    }

    /// The next event that is complete.
    pub(super) fn next(&mut self) -> Option<Event> {
        self.ready.pop_front()
    }

    fn extend_line(&mut self, bytes: &[u8]) -> Result<(), TooLong> {
        if self.line.len() + bytes.len() > MAX_BYTES {
            return Err(TooLong);
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn end_line(&mut self) -> Result<(), TooLong> {
        let line = std::mem::take(&mut self.line);
        let first = !std::mem::replace(&mut self.past_first_line, true);
        let marked = line.strip_prefix(BYTE_ORDER_MARK).filter(|_| first);
        let text = String::from_utf8_lossy(marked.unwrap_or(&line));
        if text.is_empty() {
            self.dispatch();
            return Ok(());
        }
        let (field, value) = text.split_once(':').unwrap_or((&text, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.event.name),
            "data" => self.add_data(value)?,
            "id" if !value.contains('\0') => value.clone_into(&mut self.event.id),
            // Comments, whose field is empty, and what is not known.
            _ => {}
        }
        Ok(())
    }

    fn add_data(&mut self, value: &str) -> Result<(), TooLong> {
        let data = &mut self.event.data;
        if data.len() + value.len() > MAX_BYTES {
            return Err(TooLong);
        }
        if self.has_data {
            data.push('\n');
        }
        data.push_str(value);
        self.has_data = true;
        Ok(())
    }

    fn dispatch(&mut self) {
        let next = Event {
            id: self.event.id.clone(),
            ..Event::default()
        };
        let event = std::mem::replace(&mut self.event, next);
        if std::mem::take(&mut self.has_data) {
            self.ready.push_back(event);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Result<Vec<Event>, TooLong> {
        let mut events = Events::default();
        for piece in pieces {
            events.take(piece)?;
        }
        Ok(std::iter::from_fn(|| events.next()).collect())
    }

    fn event(name: &str, data: &str, id: &str) -> Event {
        Event {
            name: name.to_owned(),
            data: data.to_owned(),
            id: id.to_owned(),
        }
    }

    /// A stream, and its events: name, data, id.
    type Row = (&'static str, &'static [(&'static str, &'static str, &'static str)]);

    #[test]
    fn streams_are_read_as_the_standard_says() {
        let table: &[Row] = &[
            ("id: 1\ndata: one\n\n", &[("", "one", "1")]),
            ("id:1\r\ndata:one\r\n\r\n", &[("", "one", "1")]),
            ("id: 1\rdata: one\r\r", &[("", "one", "1")]),
            ("\u{feff}data: marked\n\n", &[("", "marked", "")]),
            ("\n\u{feff}data: a mark later is no mark\n\n", &[]),
            (": connected\n\n: keep-alive\n\n", &[]),
            ("data: one\ndata: two\n\n", &[("", "one\ntwo", "")]),
            ("data\ndata\n\n", &[("", "\n", "")]),
            ("data:\n\n", &[("", "", "")]),
            ("data:  spaced\n\n", &[("", " spaced", "")]),
            (
                "event: ping\ndata: 1\n\ndata: 2\n\n",
                &[("ping", "1", ""), ("", "2", "")],
            ),
            ("event: nothing to say\n\ndata: 2\n\n", &[("", "2", "")]),
            ("id: 7\n\ndata: later\n\n", &[("", "later", "7")]),
            ("id: 7\ndata: 1\n\nid\ndata: 2\n\n", &[("", "1", "7"), ("", "2", "")]),
            (
                "id: 7\ndata: 1\n\nid: \0\ndata: 2\n\n",
                &[("", "1", "7"), ("", "2", "7")],
            ),
            (
                "retry: 10\nunknown: x\nDATA: x\ndata : x\ndata: 1\n\n",
                &[("", "1", "")],
            ),
            ("data: a:b: c\n\n", &[("", "a:b: c", "")]),
            ("data: an event without its end\n", &[]),
        ];
        for (stream, expected) in table {
            let expected: Vec<_> = expected.iter().map(|(name, data, id)| event(name, data, id)).collect();
            assert_eq!(parse([stream.as_bytes()]).unwrap(), expected, "{stream:?}");
        }
    }

    #[test]
    fn a_line_without_end_is_refused_before_it_takes_memory() {
        let chunk = vec![b'x'; 1 << 16];
        let mut events = Events::default();
        let taken = (0..32).take_while(|_| events.take(&chunk).is_ok()).count();
        assert_eq!(taken, MAX_BYTES / chunk.len());
        let line = format!("data: {}\n", "x".repeat(1 << 16));
        assert_eq!(parse(vec![line.as_bytes(); 32]), Err(TooLong));
    }

    proptest! {
        #[test]
        fn where_a_stream_is_cut_changes_nothing(
            stream in "(\u{feff})?((data|id|event|retry|x|)(: ?[a-z:é\u{feff}\0]{0,4})?(\r|\n|\r\n)|\n|\r\n|\r){0,24}",
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
        ) {
            let bytes = stream.as_bytes();
            let mut at: Vec<_> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
            at.extend([0, bytes.len()]);
            at.sort_unstable();
            let pieces = at.windows(2).map(|pair| &bytes[pair[0]..pair[1]]);
            prop_assert_eq!(parse(pieces), parse([bytes]));
        }

        #[test]
        fn no_bytes_make_it_panic(pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..8)) {
            let _ = parse(pieces.iter().map(Vec::as_slice));
        }
    }
}
