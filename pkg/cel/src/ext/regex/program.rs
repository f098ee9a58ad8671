//! Patterns as programs over characters, like Go's `regexp` and RE2: a class is one instruction, however many
//! ranges it has, and repetitions share it. A program is much smaller than an automaton over bytes and is
//! ready at once, but each character costs a step per active thread.

use std::collections::BTreeMap;
use std::ops::Range;

use regex_syntax::hir::{Class, ClassUnicodeRange, Hir, HirKind, Look, Repetition};

/// Maximum size of a program: instructions and empty elements (Go's `maxSize` is 3.3 million). An instruction
/// takes 12 bytes, and its thread during a search 40.
const SIZE_MAX: usize = 1 << 18;

/// Error for a pattern that exceeds the limits of the program.
#[derive(Debug)]
pub(super) struct TooLarge;

#[derive(Clone, Copy, Debug)]
enum Instruction {
    Char(char),
    /// Index of a class.
    Class(u32),
    Look(Look),
    /// Continues at both places; the first has priority.
    Split(u32, u32),
    Jump(u32),
    Match,
}

/// A compiled pattern. The search prefers the leftmost match, and among these the first alternative.
#[derive(Clone, Debug)]
pub(super) struct Program {
    instructions: Vec<Instruction>,
    /// Sorted ranges of each class.
    classes: Vec<Box<[ClassUnicodeRange]>>,
}

impl Program {
    pub(super) fn compile(pattern: &Hir) -> Result<Self, TooLarge> {
        let mut compiler = Compiler::default();
        compiler.element(pattern)?;
        compiler.add(Instruction::Match);
        let mut classes: Vec<_> = compiler.classes.into_iter().collect();
        classes.sort_by_key(|(_, index)| *index);
        let classes = classes.into_iter().map(|(ranges, _)| ranges.into()).collect();
        Ok(Program { instructions: compiler.instructions, classes })
    }

    /// Number of instructions.
    pub(super) fn len(&self) -> usize {
        self.instructions.len()
    }

    /// Returns the first match at or after the byte offset `from`. Calls `spend` with the steps of each
    /// character, at least one.
    ///
    /// # Errors
    /// Those of `spend`.
    pub(super) fn find_at<E>(
        &self,
        text: &str,
        from: usize,
        mut spend: impl FnMut(u64) -> Result<(), E>,
    ) -> Result<Option<Range<usize>>, E> {
        let mut current = Threads::new(self.instructions.len());
        let mut next = Threads::new(self.instructions.len());
        let mut found = None;
        let mut position = from;
        loop {
            if found.is_none() {
                current.add(self, 0, Place { text, position }, position);
            }
            spend(current.list.len() as u64 + 1)?;
            let c = text.get(position..).and_then(|rest| rest.chars().next());
            let after = position + c.map_or(0, char::len_utf8);
            for at in 0..current.list.len() {
                let Some(Thread { instruction, start }) = current.list.get(at).copied() else { break };
                let matches = match self.instructions.get(instruction as usize) {
                    Some(Instruction::Char(wanted)) => c == Some(*wanted),
                    Some(Instruction::Class(class)) => c.is_some_and(|c| self.contains(*class, c)),
                    Some(Instruction::Match) => {
                        // Threads behind this one have less priority.
                        found = Some(start..position);
                        break;
                    }
                    _ => false,
                };
                if matches {
                    next.add(self, instruction + 1, Place { text, position: after }, start);
                }
            }
            std::mem::swap(&mut current, &mut next);
            next.list.clear();
            if c.is_none() || found.is_some() && current.list.is_empty() {
                return Ok(found);
            }
            position = after;
        }
    }

    fn contains(&self, class: u32, c: char) -> bool {
        let ranges = self.classes.get(class as usize).map_or(&[][..], |ranges| ranges);
        let at = ranges.partition_point(|range| range.end() < c);
        ranges.get(at).is_some_and(|range| range.start() <= c)
    }
}

/// A position in a text.
#[derive(Clone, Copy)]
struct Place<'t> {
    text: &'t str,
    position: usize,
}

impl Place<'_> {
    fn satisfies(self, look: Look) -> bool {
        let bytes = self.text.as_bytes();
        let before = self.position.checked_sub(1).and_then(|at| bytes.get(at)).copied();
        let after = bytes.get(self.position).copied();
        let is_word = |byte: Option<u8>| byte.is_some_and(|b| b.is_ascii_alphanumeric() || b == b'_');
        match look {
            Look::Start => before.is_none(),
            Look::End => after.is_none(),
            Look::StartLF => before.is_none_or(|byte| byte == b'\n'),
            Look::EndLF => after.is_none_or(|byte| byte == b'\n'),
            Look::WordAscii => is_word(before) != is_word(after),
            Look::WordAsciiNegate => is_word(before) == is_word(after),
            // The translation has no others.
            _ => false,
        }
    }
}

#[derive(Clone, Copy)]
struct Thread {
    instruction: u32,
    /// Byte offset of the start of the match.
    start: usize,
}

/// Threads in order of priority. A sparse set of instructions: each one has at most one thread.
struct Threads {
    list: Vec<Thread>,
    /// Index in `list` by instruction; valid if that thread is at the instruction.
    index: Vec<u32>,
    open: Vec<u32>,
}

impl Threads {
    fn new(instructions: usize) -> Self {
        Threads { list: Vec::new(), index: vec![0; instructions], open: Vec::new() }
    }

    /// Adds a thread, and the threads that it reaches without a character.
    fn add(&mut self, program: &Program, instruction: u32, place: Place<'_>, start: usize) {
        self.open.push(instruction);
        while let Some(instruction) = self.open.pop() {
            let Some(index) = self.index.get_mut(instruction as usize) else { continue };
            if self.list.get(*index as usize).is_some_and(|thread| thread.instruction == instruction) {
                continue;
            }
            *index = self.list.len() as u32;
            self.list.push(Thread { instruction, start });
            match program.instructions.get(instruction as usize) {
                Some(Instruction::Jump(to)) => self.open.push(*to),
                Some(Instruction::Split(first, second)) => self.open.extend([*second, *first]),
                Some(Instruction::Look(look)) if place.satisfies(*look) => self.open.push(instruction + 1),
                _ => {}
            }
        }
    }
}

#[derive(Default)]
struct Compiler {
    instructions: Vec<Instruction>,
    classes: BTreeMap<Vec<ClassUnicodeRange>, u32>,
    /// Compiled elements, with each copy of a repetition.
    size: usize,
}

impl Compiler {
    /// Appends an instruction and returns its index.
    fn add(&mut self, instruction: Instruction) -> u32 {
        self.instructions.push(instruction);
        self.end() - 1
    }

    fn end(&self) -> u32 {
        self.instructions.len() as u32
    }

    fn element(&mut self, element: &Hir) -> Result<(), TooLarge> {
        self.size += 1;
        if self.size.max(self.instructions.len()) > SIZE_MAX {
            return Err(TooLarge);
        }
        match element.kind() {
            HirKind::Empty => {}
            HirKind::Literal(literal) => {
                let text = std::str::from_utf8(&literal.0).map_err(|_| TooLarge)?;
                self.instructions.extend(text.chars().map(Instruction::Char));
            }
            HirKind::Class(class) => self.class(class)?,
            HirKind::Look(look) => drop(self.add(Instruction::Look(*look))),
            HirKind::Capture(capture) => self.element(&capture.sub)?,
            HirKind::Concat(parts) => parts.iter().try_for_each(|part| self.element(part))?,
            HirKind::Alternation(alternatives) => self.alternation(alternatives)?,
            HirKind::Repetition(repetition) => self.repetition(repetition)?,
        }
        Ok(())
    }

    fn class(&mut self, class: &Class) -> Result<(), TooLarge> {
        let ranges = match class {
            Class::Unicode(class) => class.ranges().to_vec(),
            // Only classes of ASCII characters match valid texts.
            Class::Bytes(class) => class.to_unicode_class().ok_or(TooLarge)?.ranges().to_vec(),
        };
        let count = self.classes.len() as u32;
        let class = *self.classes.entry(ranges).or_insert(count);
        self.add(Instruction::Class(class));
        Ok(())
    }

    fn alternation(&mut self, alternatives: &[Hir]) -> Result<(), TooLarge> {
        let Some((last, others)) = alternatives.split_last() else { return Ok(()) };
        let mut exits = Vec::new();
        for alternative in others {
            let split = self.add(Instruction::Split(0, 0));
            self.element(alternative)?;
            exits.push(self.add(Instruction::Jump(0)));
            self.set(split, Instruction::Split(split + 1, self.end()));
        }
        self.element(last)?;
        let end = self.end();
        exits.into_iter().for_each(|exit| self.set(exit, Instruction::Jump(end)));
        Ok(())
    }

    /// `x{2,4}` becomes `xx(x(x)?)?`, and `x*` becomes `(x+)?` if `x` can be empty, as in Go.
    fn repetition(&mut self, repetition: &Repetition) -> Result<(), TooLarge> {
        let Repetition { min, max, greedy, ref sub } = *repetition;
        if (min, max) == (0, None) && sub.properties().minimum_len() != Some(0) {
            let split = self.add(Instruction::Split(0, 0));
            self.element(sub)?;
            self.add(Instruction::Jump(split));
            self.set(split, split_by(greedy, split + 1, self.end()));
            return Ok(());
        }
        let mut last = self.end();
        for _ in 0..min {
            last = self.end();
            self.element(sub)?;
        }
        let mut exits = Vec::new();
        for _ in 0..max.map_or(u32::from(min == 0), |max| max.saturating_sub(min)) {
            exits.push(self.add(Instruction::Split(0, 0)));
            last = self.end();
            self.element(sub)?;
        }
        if max.is_none() {
            let split = self.end();
            self.add(split_by(greedy, last, split + 1));
        }
        let end = self.end();
        exits.into_iter().for_each(|exit| self.set(exit, split_by(greedy, exit + 1, end)));
        Ok(())
    }

    fn set(&mut self, at: u32, instruction: Instruction) {
        if let Some(place) = self.instructions.get_mut(at as usize) {
            *place = instruction;
        }
    }
}

/// Returns the choice between a repetition and its end.
fn split_by(greedy: bool, repeat: u32, end: u32) -> Instruction {
    if greedy { Instruction::Split(repeat, end) } else { Instruction::Split(end, repeat) }
}
