//! A simulated in-memory disk that can be full, fail, and lose power: unsynced data is then partly lost, in
//! random sectors.

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
    /// Contents that survive a power loss.
    durable: Vec<u8>,
    /// Contents visible to the running system.
    seen: Vec<u8>,
    /// Sectors that may differ.
    unsynced: BTreeSet<usize>,
    /// Blocks that were ever written; the others are holes and need no space.
    blocks: BTreeSet<u64>,
    /// Capacity in blocks.
    capacity: usize,
    /// True if writes and syncs fail.
    broken: bool,
    /// True if the next sync fails, once.
    sync_fails: bool,
    /// Number of writes and syncs until the power fails.
    power: u64,
    /// Number of power losses: earlier openings of the file are invalid.
    generation: u64,
}

impl SimDisk {
    pub(crate) fn new() -> Self {
        SimDisk(Arc::new(Mutex::new(State {
            durable: Vec::new(),
            seen: Vec::new(),
            unsynced: BTreeSet::new(),
            blocks: BTreeSet::new(),
            capacity: usize::MAX,
            broken: false,
            sync_fails: false,
            power: u64::MAX,
            generation: 0,
        })))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    /// The store's file on this disk. It can be opened until the power fails.
    pub(crate) fn file(&self) -> Result<Disk, storage::Error> {
        let disk = self.clone();
        let generation = self.state().generation;
        let open = move || builder(1 << 20).create_with_backend(File { disk: disk.clone(), generation });
        Disk::open_with(PathBuf::from("sim.redb"), Box::new(open))
    }

    /// Leaves this many free blocks.
    pub(super) fn leave_room(&self, blocks: usize) {
        let mut state = self.state();
        state.capacity = state.blocks.len().saturating_add(blocks);
    }

    pub(super) fn set_broken(&self, broken: bool) {
        self.state().broken = broken;
    }

    pub(super) fn fail_next_sync(&self) {
        self.state().sync_fails = true;
    }

    /// Makes the power fail after this many writes and syncs.
    pub(super) fn cut_power_after(&self, operations: u64) {
        self.state().power = operations;
    }

    /// Restores power. Each unsynced sector survives or is lost.
    pub(super) fn restore_power(&self, random: &mut Random) {
        let mut state = self.state();
        let state = &mut *state;
        // Sometimes all survive, sometimes almost none.
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

/// An opening of the file.
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

    /// The state, for a modifying operation.
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

    /// As on a real file system, growing creates a hole and needs no space. Here the length is durable at
    /// once, which a file system does not guarantee; only the sectors matter.
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
            if !state.blocks.contains(&block) && state.blocks.len() >= state.capacity {
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
