//! What is live of the queue is written again before a segment goes that it does not lie behind (ADR 0017).

use bytes::Bytes;
use restante_model::WebhookId;

use super::super::index::{IndexError, Row, Rows};
use super::super::ledger::Victim;
use super::super::relocate::{Moving, Queued, holds_queue};
use super::super::rows::{BlobAt, DeliveryRow, EventRow, Place, WebhookRow, decode, key, queue_key};
use super::Compactor;
use super::segment::{CHUNK_RECORDS, LOOKS};
use super::stopped::Stopped;

/// Rows that are looked at in one step.
const STEP: usize = 256;

impl Compactor {
    /// Writes again all that is live of the queue in segments up to and with the victim.
    pub(super) fn move_queue(&self, victim: Victim) -> Result<(), Stopped> {
        for _ in 0..LOOKS {
            if !holds_queue(&*self.shared.index()?, victim.segment)? {
                return Ok(());
            }
            self.move_queue_once(victim)?;
        }
        Err(Stopped::Needed)
    }

    fn move_queue_once(&self, victim: Victim) -> Result<(), Stopped> {
        for prefix in [queue_key::WEBHOOKS, queue_key::EVENTS, queue_key::DELIVERIES] {
            let mut keys = key::all(prefix);
            loop {
                // Not longer than for one step: the committer may put another index in its place.
                let rows = self.shared.index()?.range(keys.clone(), STEP)?;
                self.move_rows(&rows, victim)?;
                match rows.last() {
                    Some((name, _)) if rows.len() == STEP => keys.start = [name.as_ref(), &[0]].concat(),
                    _ => break,
                }
            }
        }
        let segment = victim.segment;
        self.hand_over(vec![Moving::Queued(Queued::Mark { segment })], victim)
    }

    fn move_rows(&self, rows: &[Row], victim: Victim) -> Result<(), Stopped> {
        let (mut chunk, mut bytes) = (Vec::new(), 0);
        for row in rows {
            let Some(queued) = self.read_queued(row, victim.segment)? else {
                continue;
            };
            let moving = Moving::Queued(queued);
            bytes += moving.bytes() as u64;
            chunk.push(moving);
            if bytes >= self.chunk_bytes || chunk.len() >= CHUNK_RECORDS {
                self.hand_over(std::mem::take(&mut chunk), victim)?;
                bytes = 0;
            }
        }
        if chunk.is_empty() {
            return Ok(());
        }
        self.hand_over(chunk, victim)
    }

    /// What a row of the queue says, if one of its records does not lie behind a segment.
    fn read_queued(&self, (name, value): &Row, segment: u32) -> Result<Option<Queued>, Stopped> {
        let is_behind = |place: Place| place.segment > segment;
        match name.first() {
            Some(b'W') => {
                let row: WebhookRow = decode(value).map_err(IndexError::Row)?;
                if row.places().all(is_behind) {
                    return Ok(None);
                }
                let webhook = key::last_id(name)
                    .map(WebhookId::from_bytes)
                    .ok_or(IndexError::Missing)?;
                let config = self.read_or_lose(row.config_at())?;
                let from = row.place;
                Ok(Some(Queued::Webhook { webhook, from, config }))
            }
            Some(b'e') => {
                let row: EventRow = decode(value).map_err(IndexError::Row)?;
                if is_behind(row.place) {
                    return Ok(None);
                }
                let sequence = key::number_at(name, 0).ok_or(IndexError::Missing)?;
                let data = row.data_at().map(|at| self.read_or_lose(at)).transpose()?;
                let from = row.place;
                Ok(Some(Queued::Event { sequence, from, data }))
            }
            _ => {
                let row: DeliveryRow = decode(value).map_err(IndexError::Row)?;
                if row.places().all(is_behind) {
                    return Ok(None);
                }
                let (webhook, about) = queue_key::delivery_of(name).ok_or(IndexError::Missing)?;
                let report = row.report_at().map(|at| self.read_or_lose(at)).transpose()?;
                Ok(Some(Queued::Delivery {
                    webhook,
                    about,
                    from: row.place,
                    report,
                }))
            }
        }
    }

    /// Reads a blob. One that is damaged is given up: what is sealed is never empty, so whoever reads it is told, and
    /// no segment stays for ever because of what nobody can read.
    fn read_or_lose(&self, at: BlobAt) -> Result<Bytes, Stopped> {
        match self.read(at) {
            Err(reason @ Stopped::Damaged { .. }) => {
                tracing::error!(%reason, bytes = at.len, "a part of the queue of webhooks is given up");
                Ok(Bytes::new())
            }
            read => read,
        }
    }
}
