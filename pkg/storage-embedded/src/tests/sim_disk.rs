//! A disk in memory that can be full, fail, and lose power: what was not synced then is lost in
//! part, sector by sector, as it pleases chance.

use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};

use redb::StorageBackend;

use super::ledger::Random;
use crate::disk::{Disk, builder};

const SECTOR: usize = 512;
const BLOCK: u64 = 4096;

#[derive(Debug, Clone)]
pub(crate) struct SimDisk(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    /// What is certain to survive a loss of power.
    durable: Vec<u8>,
    /// What the running system sees.
    seen: Vec<u8>,
    /// Sectors that differ, maybe.
    unsynced: BTreeSet<usize>,
    /// Blocks that were ever written; the others are holes and take no room.
    blocks: BTreeSet<u64>,
    /// How many blocks there is room for.
    room: usize,
    /// Writes and syncs fail.
    broken: bool,
    /// The next sync fails, once.
    sync_fails: bool,
    /// After so many writes and syncs the power goes.
    power: u64,
    /// Counts losses of power: whoever had the file open before cannot use it any more.
    generation: u64,
}

impl SimDisk {
    pub(crate) fn new() -> Self {
        SimDisk(Arc::new(Mutex::new(State {
            durable: Vec::new(),
            seen: Vec::new(),
            unsynced: BTreeSet::new(),
            blocks: BTreeSet::new(),
            room: usize::MAX,
            broken: false,
            sync_fails: false,
            power: u64::MAX,
            generation: 0,
        })))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    /// The store's file on this disk. It can be opened until the power goes.
    pub(crate) fn file(&self) -> Result<Disk, storage::Error> {
        let (disk, generation) = (self.clone(), self.state().generation);
        let open = move || builder(1 << 20).create_with_backend(File { disk: disk.clone(), generation });
        Disk::opened(PathBuf::from("sim.redb"), Box::new(open))
    }

    /// Leaves room for so many blocks more than are in use.
    pub(super) fn leave_room(&self, blocks: usize) {
        let mut state = self.state();
        state.room = state.blocks.len().saturating_add(blocks);
    }

    pub(super) fn set_broken(&self, broken: bool) {
        self.state().broken = broken;
    }

    pub(super) fn fail_next_sync(&self) {
        self.state().sync_fails = true;
    }

    /// The power goes after so many writes and syncs from now.
    pub(super) fn cut_power_after(&self, operations: u64) {
        self.state().power = operations;
    }

    /// The power comes back. Of what was not synced each sector is there or not.
    pub(super) fn restore_power(&self, random: &mut Random) {
        let mut state = self.state();
        let state = &mut *state;
        // Sometimes all of it, sometimes next to nothing.
        let odds = random.below(11);
        let length = state.seen.len().max(state.durable.len());
        state.durable.resize(length, 0);
        state.seen.resize(length, 0);
        for sector in std::mem::take(&mut state.unsynced) {
            let range = sector * SECTOR..((sector + 1) * SECTOR).min(length);
            if random.below(10) < odds && !range.is_empty() {
                state.durable[range.clone()].copy_from_slice(&state.seen[range]);
            }
        }
        state.seen = state.durable.clone();
        state.power = u64::MAX;
        state.generation += 1;
    }
}

/// One opening of the file.
#[derive(Debug)]
struct File {
    disk: SimDisk,
    generation: u64,
}

impl File {
    fn state(&self) -> io::Result<MutexGuard<'_, State>> {
        let state = self.disk.state();
        if state.power == 0 || state.generation != self.generation {
            Err(io::Error::other("the power is gone"))
        } else {
            Ok(state)
        }
    }

    /// The state, for an operation that changes it.
    fn state_mut(&self) -> io::Result<MutexGuard<'_, State>> {
        let mut state = self.state()?;
        state.power = state.power.saturating_sub(u64::from(state.power != u64::MAX));
        if state.broken { Err(io::Error::other("the disk is broken")) } else { Ok(state) }
    }
}

impl StorageBackend for File {
    fn len(&self) -> io::Result<u64> {
        Ok(self.state()?.seen.len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let state = self.state()?;
        let bytes = state.seen.get(offset as usize..offset as usize + out.len());
        out.copy_from_slice(bytes.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    /// As on a real file system, growing makes a hole and needs no room. The length is durable at
    /// once here, which a file system does not promise; the sectors are what counts.
    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut state = self.state_mut()?;
        state.seen.resize(len as usize, 0);
        state.durable.resize(len as usize, 0);
        state.blocks.split_off(&len.div_ceil(BLOCK));
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        let mut state = self.state_mut()?;
        let state = &mut *state;
        if std::mem::take(&mut state.sync_fails) {
            return Err(io::Error::other("the disk is unsure"));
        }
        state.durable.clone_from(&state.seen);
        state.unsynced.clear();
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut state = self.state_mut()?;
        let end = offset as usize + data.len();
        for block in offset / BLOCK..(end as u64).div_ceil(BLOCK) {
            if !state.blocks.contains(&block) && state.blocks.len() >= state.room {
                return Err(io::ErrorKind::StorageFull.into());
            }
            state.blocks.insert(block);
        }
        let place = state.seen.get_mut(offset as usize..end).ok_or(io::ErrorKind::UnexpectedEof)?;
        place.copy_from_slice(data);
        state.unsynced.extend(offset as usize / SECTOR..end.div_ceil(SECTOR));
        Ok(())
    }
}
