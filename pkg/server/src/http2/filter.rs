//! Filter for the input of an HTTP/2 connection. Pure: see [`super`] for its purpose.
#![warn(clippy::arithmetic_side_effects, clippy::indexing_slicing, clippy::as_conversions)]

use super::hpack::{self, BlockError, Table};

/// Maximum size of a received frame, the smallest that HTTP/2 permits. A connection keeps a read buffer of the size of its
/// largest frames. `h2` limits the frames of a block to a quarter more than [`HEADER_LIST_BYTES_MAX`] needs at this size. With
/// upstream's 256 KiB, the limit would be five frames. A client starts with frames of 16 KiB, so its head of 100 KB would be
/// rejected.
pub(crate) const FRAME_BYTES_MAX: u32 = 16 * 1024;
/// Maximum size of the header list of a request in bytes, as in upstream.
pub(crate) const HEADER_LIST_BYTES_MAX: u32 = 1 << 20;
/// Maximum payload of the last frames of a block for the parser, in bytes. A larger frame would double the parser's read buffer
/// of 8 KiB, and the buffer would keep that size. A frame of [`FRAME_BYTES_MAX`] fills a buffer of its own exactly, which is
/// freed with the frame.
const LAST_FRAMES_BYTES_MAX: usize = 4 * 1024 - FRAME_HEAD_BYTES;
/// Maximum number of frames of a block, as in the parser: a quarter more than the largest list of fields needs.
const BLOCK_FRAMES_MAX: u32 = HEADER_LIST_BYTES_MAX / FRAME_BYTES_MAX * 5 / 4;
/// Maximum size of the output that is prepared at once, except for the last block, in bytes.
const OUTPUT_BYTES_MAX: usize = 64 * 1024;
/// Maximum size of a decoded block above twice the size of the block, in bytes. Huffman code saves at most 3/8, and all entries
/// of the table together have 4 KiB, so only a block that names entries repeatedly is larger.
const EXPANSION_BYTES_MAX: usize = 8 * 1024;
/// Initial buffer for a decoded block in bytes, enough for the heads of most clients.
const DECODED_BYTES_MIN: usize = 1024;
/// Multiple of the largest list of fields that ends the connection instead of the request, as in the parser.
const LIST_EXCESS_MAX: usize = 4;
/// Maximum length of a field's name in bytes, as in the parser.
const NAME_BYTES_MAX: usize = 65_535;
/// Size of the text with which a connection starts.
const PREFACE_BYTES: usize = 24;
const FRAME_HEAD_BYTES: usize = 9;
/// Size of the priority fields of a HEADERS frame.
const PRIORITY_BYTES: usize = 5;

const HEADERS: u8 = 1;
/// Only servers may send it. The parser would decode its block.
const PUSH_PROMISE: u8 = 5;
const PING: u8 = 6;
const CONTINUATION: u8 = 9;
const END_STREAM: u8 = 0x1;
const END_HEADERS: u8 = 0x4;
const PADDED: u8 = 0x8;
const PRIORITY: u8 = 0x20;

/// Input of one connection.
pub(crate) struct Filter {
    table: Table,
    /// True if the input was invalid. The parser sees its end after a frame that it rejects.
    rejected: bool,
    /// Number of bytes of the preface or of a frame that pass unchanged.
    passing: usize,
    /// Start of a frame that has not arrived completely.
    pending: Vec<u8>,
    block: Option<Block>,
    /// Bytes for the parser, of which it has got the first `taken`.
    output: Vec<u8>,
    taken: usize,
}

impl Default for Filter {
    fn default() -> Self {
        Filter {
            table: Table::default(),
            rejected: false,
            passing: PREFACE_BYTES,
            pending: Vec::new(),
            block: None,
            output: Vec::new(),
            taken: 0,
        }
    }
}

impl Filter {
    /// Takes received bytes. Returns the number of first bytes that reach the parser unchanged; the output follows them.
    pub(crate) fn accept(&mut self, received: &[u8]) -> usize {
        let passed = if self.pending.is_empty() && self.block.is_none() { self.pass(received) } else { 0 };
        let rest = received.get(passed..).unwrap_or_default();
        if self.pending.is_empty() {
            self.pending = self.process(rest).to_vec();
        } else {
            self.pending.extend_from_slice(rest);
            self.process_pending();
        }
        passed
    }

    /// Returns the number of first bytes that can pass unchanged: up to the first header block.
    fn pass(&mut self, received: &[u8]) -> usize {
        let mut passed = 0_usize;
        loop {
            let rest = received.get(passed..).unwrap_or_default();
            let skipped = self.passing.min(rest.len());
            self.passing = self.passing.saturating_sub(skipped);
            passed = passed.saturating_add(skipped);
            let rest = rest.get(skipped..).unwrap_or_default();
            match FrameHead::read(rest) {
                Some(head) if !head.starts_block() && head.kind != PUSH_PROMISE => {
                    self.passing = head.frame_bytes();
                }
                _ => return passed,
            }
        }
    }

    fn process_pending(&mut self) {
        let pending = std::mem::take(&mut self.pending);
        let rest = self.process(&pending);
        // The start of a frame may arrive in many pieces.
        self.pending = if rest.len() == pending.len() { pending } else { rest.to_vec() };
    }

    /// Moves complete frames from `bytes` to the output, up to [`OUTPUT_BYTES_MAX`]. Returns the rest, which is empty if the
    /// input was invalid.
    fn process<'b>(&mut self, bytes: &'b [u8]) -> &'b [u8] {
        let mut rest = bytes;
        while !self.rejected && self.output.len() < OUTPUT_BYTES_MAX {
            let (passed, behind) = rest.split_at(self.passing.min(rest.len()));
            self.passing = self.passing.saturating_sub(passed.len());
            self.output.extend_from_slice(passed);
            rest = behind;
            let Some(head) = FrameHead::read(rest) else { break };
            if head.kind == PUSH_PROMISE {
                self.reject_frame();
                break;
            }
            if self.block.is_none() && !head.starts_block() {
                self.passing = head.frame_bytes();
                continue;
            }
            if self.block.is_some() && !head.is_acceptable() {
                self.reject_frame();
                break;
            }
            let Some((frame, behind)) = rest.split_at_checked(head.frame_bytes()) else { break };
            rest = behind;
            self.process_frame(head, frame.get(FRAME_HEAD_BYTES..).unwrap_or_default(), frame);
        }
        if self.rejected { &[] } else { rest }
    }

    /// Processes a complete frame: the first of a block, or any frame after that.
    fn process_frame(&mut self, head: FrameHead, payload: &[u8], frame: &[u8]) {
        let mut block = match self.block.take() {
            None => match Block::start(head, payload) {
                Some(block) => block,
                // The parser rejects its padding.
                None => return self.output.extend_from_slice(frame),
            },
            Some(block) if head.kind != CONTINUATION || head.stream != block.stream => {
                self.block = Some(block);
                return self.reject_frame();
            }
            Some(block) => block.extended(payload),
        };
        if head.flags & END_HEADERS == 0 {
            let too_long = block.frames > BLOCK_FRAMES_MAX;
            self.block = Some(block);
            if too_long {
                self.reject_frame();
            }
            return;
        }
        match block.decode(&mut self.table) {
            Ok(()) => block.write(&mut self.output),
            Err(BlockError) => self.reject_block(block.stream),
        }
    }

    /// Makes the parser reject a frame that does not belong to the current block.
    fn reject_frame(&mut self) {
        let stream = self.block.take().map(|block| block.stream).unwrap_or_default();
        write_frame(HEADERS, 0, stream, &[], &mut self.output);
        write_frame(PING, 0, [0; 4], &[&[0; 8]], &mut self.output);
        self.rejected = true;
    }

    /// Makes the parser reject a header block.
    fn reject_block(&mut self, stream: [u8; 4]) {
        // A field with the index 0 is invalid.
        write_frame(HEADERS, END_HEADERS, stream, &[&[0x80]], &mut self.output);
        self.rejected = true;
    }

    /// Returns at most this many bytes of the output, and removes them.
    pub(crate) fn next_output(&mut self, bytes_max: usize) -> &[u8] {
        if self.taken == self.output.len() {
            self.output = Vec::new();
            self.taken = 0;
            if !self.pending.is_empty() && !self.rejected {
                self.process_pending();
            }
        }
        let rest = self.output.get(self.taken..).unwrap_or_default();
        let part = rest.get(..bytes_max).unwrap_or(rest);
        self.taken = self.taken.saturating_add(part.len());
        part
    }

    /// Number of received bytes that the parser has not got.
    pub(crate) fn held_bytes(&self) -> usize {
        let block = self.block.as_ref().map_or(0, |block| block.bytes.len());
        self.pending.len().saturating_add(block).saturating_add(self.output.len())
    }

    /// True if the input was invalid. It ends after the output.
    pub(crate) fn is_rejected(&self) -> bool {
        self.rejected
    }
}

#[derive(Debug, Clone, Copy)]
struct FrameHead {
    /// Length of the payload in bytes.
    length: usize,
    kind: u8,
    flags: u8,
    stream: [u8; 4],
}

impl FrameHead {
    fn read(bytes: &[u8]) -> Option<Self> {
        let [high, middle, low, kind, flags, a, b, c, d] = *bytes.first_chunk::<FRAME_HEAD_BYTES>()?;
        let length = usize::try_from(u32::from_be_bytes([0, high, middle, low])).ok()?;
        Some(FrameHead { length, kind, flags, stream: [a, b, c, d] })
    }

    /// True for a HEADERS frame. The parser rejects a frame that is too long without its payload.
    fn starts_block(&self) -> bool {
        self.kind == HEADERS && self.is_acceptable()
    }

    fn is_acceptable(&self) -> bool {
        u32::try_from(self.length).is_ok_and(|length| length <= FRAME_BYTES_MAX)
    }

    /// Length of the frame with its head in bytes.
    fn frame_bytes(&self) -> usize {
        self.length.saturating_add(FRAME_HEAD_BYTES)
    }

    /// Splits the payload of a HEADERS frame into its priority fields and its part of the block. Returns `None` for invalid
    /// padding.
    fn split<'b>(&self, payload: &'b [u8]) -> Option<(&'b [u8], &'b [u8])> {
        let mut payload = payload;
        let mut padding = 0;
        if self.flags & PADDED != 0 {
            let (length, rest) = payload.split_first()?;
            padding = usize::from(*length);
            payload = rest;
        }
        let priority = if self.flags & PRIORITY == 0 { 0 } else { PRIORITY_BYTES };
        let (priority, block) = payload.split_at_checked(priority)?;
        Some((priority, block.get(..block.len().checked_sub(padding)?)?))
    }
}

/// Header block of one request.
struct Block {
    stream: [u8; 4],
    /// Flags of its HEADERS frame, without padding and the end of the block.
    flags: u8,
    /// Priority fields of its HEADERS frame, if any.
    priority: Vec<u8>,
    bytes: Vec<u8>,
    /// Number of its frames.
    frames: u32,
}

impl Block {
    fn start(head: FrameHead, payload: &[u8]) -> Option<Self> {
        let (priority, bytes) = head.split(payload)?;
        Some(Block {
            stream: head.stream,
            flags: head.flags & (END_STREAM | PRIORITY),
            priority: priority.to_vec(),
            bytes: bytes.to_vec(),
            frames: 1,
        })
    }

    /// Returns the block with the payload of another frame.
    fn extended(mut self, payload: &[u8]) -> Self {
        self.bytes.extend_from_slice(payload);
        self.frames = self.frames.saturating_add(1);
        self
    }

    /// Replaces the block by its decoded form. If its fields are larger than the limit, there is a field of the same size
    /// in place of the rest, so that the parser rejects the request. If a block expands too much, or the parser would end the
    /// connection for a field, the block is replaced by one for which the parser ends only the stream.
    fn decode(&mut self, table: &mut Table) -> Result<(), BlockError> {
        let limit = usize::try_from(HEADER_LIST_BYTES_MAX).unwrap_or(usize::MAX);
        let mut decoded = Vec::with_capacity(self.bytes.len().max(DECODED_BYTES_MIN));
        let mut size = 0_usize;
        let mut is_rejected = false;
        let decoded_max = self.bytes.len().saturating_mul(2).saturating_add(EXPANSION_BYTES_MAX);
        table.decode(&self.bytes, |name, value| {
            let before = size;
            size = size.saturating_add(hpack::field_size(name, value));
            if size > limit.saturating_mul(LIST_EXCESS_MAX) {
                return Err(BlockError);
            }
            if is_rejected {
                return Ok(());
            }
            if !is_parsable(name, value) {
                is_rejected = true;
            } else if size <= limit {
                hpack::encode(name, value, &mut decoded);
                is_rejected = decoded.len() > decoded_max;
            } else if before <= limit {
                hpack::encode(b"x", &vec![b'x'; limit.saturating_sub(before)], &mut decoded);
            }
            Ok(())
        })?;
        if is_rejected {
            decoded = Vec::new();
            hpack::encode(b"connection", b"", &mut decoded);
        }
        self.bytes = decoded;
        Ok(())
    }

    /// Appends the frames of the block: as many of the maximum size as there can be, and small ones for the rest.
    fn write(&self, output: &mut Vec<u8>) {
        let frame_max = usize::try_from(FRAME_BYTES_MAX).unwrap_or(usize::MAX);
        let mut priority = self.priority.as_slice();
        let mut rest = self.bytes.as_slice();
        let mut kind = HEADERS;
        let mut flags = self.flags;
        loop {
            let is_full = rest.len().saturating_add(priority.len()) >= frame_max;
            let payload_max = if is_full { frame_max } else { LAST_FRAMES_BYTES_MAX };
            let (part, behind) = rest.split_at(payload_max.saturating_sub(priority.len()).min(rest.len()));
            rest = behind;
            if rest.is_empty() {
                flags |= END_HEADERS;
            }
            write_frame(kind, flags, self.stream, &[priority, part], output);
            if rest.is_empty() {
                return;
            }
            priority = &[];
            kind = CONTINUATION;
            flags = 0;
        }
    }
}

/// True if the parser accepts the field. For another field, it would report a compression error and end the connection.
fn is_parsable(name: &[u8], value: &[u8]) -> bool {
    match name {
        b":method" => !value.is_empty() && value.iter().all(|byte| is_method_byte(*byte)),
        b":authority" | b":scheme" | b":path" | b":protocol" => str::from_utf8(value).is_ok(),
        _ => {
            (1..=NAME_BYTES_MAX).contains(&name.len())
                && name.iter().all(|byte| is_name_byte(*byte))
                // Without an early end, the compiler checks many bytes at once.
                && value.iter().fold(true, |valid, byte| valid & is_value_byte(*byte))
        }
    }
}

fn is_method_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte == b'-' || byte.is_ascii_digit() || b"!\"#$%&'*+.^_`|~".contains(&byte)
}

fn is_value_byte(byte: u8) -> bool {
    ((byte >= b' ') & (byte != 0x7f)) | (byte == b'\t')
}

/// Appends a frame. Its payload is in parts.
fn write_frame(kind: u8, flags: u8, stream: [u8; 4], payload: &[&[u8]], output: &mut Vec<u8>) {
    let length = payload.iter().fold(0_usize, |length, part| length.saturating_add(part.len()));
    output.reserve(length.saturating_add(FRAME_HEAD_BYTES));
    let [_, length @ ..] = u32::try_from(length).unwrap_or_default().to_be_bytes();
    output.extend_from_slice(&length);
    output.extend_from_slice(&[kind, flags]);
    output.extend_from_slice(&stream);
    for part in payload {
        output.extend_from_slice(part);
    }
}

#[cfg(test)]
mod tests;
