//! Patterns as programs over characters, like Go's `regexp` and RE2: a class is one instruction, however many
//! ranges it has, and repetitions share it. A program is much smaller than an automaton over bytes and is
//! ready at once, but each character costs a step per active thread.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::arena::Abort;
use crate::step_budget::StepBudget;
use regex_syntax::hir::{Class, ClassUnicodeRange, Hir, HirKind, Look, Repetition};

/// Maximum size of a program: instructions and empty elements (Go's `maxSize` is 3.3 million). An instruction
/// takes 12 bytes, and its thread during a search 40.
const SIZE_MAX: usize = 1 << 18;

/// Instructions for which a search prepares its threads in one step: 8 bytes each.
const PREPARED_PER_STEP: u64 = 64;
/// Threads of a search that are advanced by a character in one step.
const THREADS_PER_STEP: u64 = 4;

/// Error of the compiler.
#[derive(Debug)]
pub(super) enum Failure {
    /// The pattern exceeds the limits of the program.
    TooLarge,
    /// The step budget is exhausted.
    Abort(Abort),
}

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
    /// Compiles a pattern. Consumes a step per instruction, before it is added.
    pub(super) fn compile(pattern: &Hir, steps: &StepBudget) -> Result<Self, Failure> {
        let mut compiler = Compiler::new(steps);
        compiler.element(pattern)?;
        compiler.add(Instruction::Match)?;
        let mut classes: Vec<_> = compiler.classes.into_iter().collect();
        classes.sort_by_key(|(_, index)| *index);
        let classes = classes.into_iter().map(|(ranges, _)| ranges.into()).collect();
        Ok(Program { instructions: compiler.instructions, classes })
    }

    /// Number of instructions.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.instructions.len()
    }

    /// Prepares searches. Consumes steps in proportion to the size of the program.
    pub(super) fn search<'p>(&'p self, steps: &'p StepBudget) -> Result<Search<'p>, Abort> {
        let instructions = self.instructions.len();
        steps.spend(instructions as u64 / PREPARED_PER_STEP)?;
        Ok(Search {
            program: self,
            steps,
            current: Threads::new(instructions),
            next: Threads::new(instructions),
        })
    }

    fn contains(&self, class: u32, c: char) -> bool {
        let ranges = self.classes.get(class as usize).map_or(&[][..], |ranges| ranges);
        let at = ranges.partition_point(|range| range.end() < c);
        ranges.get(at).is_some_and(|range| range.start() <= c)
    }
}

/// Searches with one program, which share the memory of their threads.
pub(super) struct Search<'p> {
    program: &'p Program,
    steps: &'p StepBudget,
    current: Threads,
    next: Threads,
}

impl Search<'_> {
    /// Returns the first match at or after the byte offset `from`. Consumes at least one step per character.
    pub(super) fn find_at(&mut self, text: &str, from: usize) -> Result<Option<Range<usize>>, Abort> {
        let Search { program, steps, current, next } = self;
        // The last search ended with the threads of its last character.
        current.list.clear();
        let mut best = None;
        let mut position = from;
        loop {
            if best.is_none() {
                current.add(program, 0, Place { text, position }, position);
            }
            steps.spend((current.list.len() as u64 + 1).div_ceil(THREADS_PER_STEP))?;
            let c = text.get(position..).and_then(|rest| rest.chars().next());
            let after = position + c.map_or(0, char::len_utf8);
            for at in 0..current.list.len() {
                let Some(Thread { instruction, start }) = current.list.get(at).copied() else { break };
                let matches = match program.instructions.get(instruction as usize) {
                    Some(Instruction::Char(expected)) => c == Some(*expected),
                    Some(Instruction::Class(class)) => c.is_some_and(|c| program.contains(*class, c)),
                    Some(Instruction::Match) => {
                        // Threads behind this one have less priority.
                        best = Some(start..position);
                        break;
                    }
                    _ => false,
                };
                if matches {
                    next.add(program, instruction + 1, Place { text, position: after }, start);
                }
            }
            std::mem::swap(current, next);
            next.list.clear();
            if c.is_none() || best.is_some() && current.list.is_empty() {
                return Ok(best);
            }
            position = after;
        }
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

struct Compiler<'s> {
    steps: &'s StepBudget,
    instructions: Vec<Instruction>,
    classes: BTreeMap<Vec<ClassUnicodeRange>, u32>,
    /// Elements of the program, with each copy of a repetition.
    size: usize,
    #[cfg(test)]
    visited: usize,
}

/// A compiled element.
struct Compiled {
    instructions: Range<usize>,
    size: usize,
}

impl<'s> Compiler<'s> {
    fn new(steps: &'s StepBudget) -> Self {
        Compiler {
            steps,
            instructions: Vec::new(),
            classes: BTreeMap::new(),
            size: 0,
            #[cfg(test)]
            visited: 0,
        }
    }

    /// Reserves space for instructions and elements.
    fn grow(&mut self, instructions: usize, size: usize) -> Result<(), Failure> {
        self.size = self.size.saturating_add(size);
        if self.size.max(self.instructions.len().saturating_add(instructions)) > SIZE_MAX {
            return Err(Failure::TooLarge);
        }
        self.steps.spend(instructions as u64).map_err(Failure::Abort)
    }

    /// Appends an instruction and returns its index.
    fn add(&mut self, instruction: Instruction) -> Result<u32, Failure> {
        self.grow(1, 0)?;
        self.instructions.push(instruction);
        Ok(self.end() - 1)
    }

    fn end(&self) -> u32 {
        self.instructions.len() as u32
    }

    fn element(&mut self, element: &Hir) -> Result<(), Failure> {
        self.grow(0, 1)?;
        #[cfg(test)]
        {
            self.visited += 1;
        }
        match element.kind() {
            HirKind::Empty => {}
            HirKind::Literal(literal) => {
                let text = std::str::from_utf8(&literal.0).map_err(|_| Failure::TooLarge)?;
                self.grow(text.chars().count(), 0)?;
                self.instructions.extend(text.chars().map(Instruction::Char));
            }
            HirKind::Class(class) => self.class(class)?,
            HirKind::Look(look) => drop(self.add(Instruction::Look(*look))?),
            HirKind::Capture(capture) => self.element(&capture.sub)?,
            HirKind::Concat(parts) => parts.iter().try_for_each(|part| self.element(part))?,
            HirKind::Alternation(alternatives) => self.alternation(alternatives)?,
            HirKind::Repetition(repetition) => self.repetition(repetition)?,
        }
        Ok(())
    }

    fn class(&mut self, class: &Class) -> Result<(), Failure> {
        let ranges = match class {
            Class::Unicode(class) => class.ranges().to_vec(),
            // Only classes of ASCII characters match valid texts.
            Class::Bytes(class) => class.to_unicode_class().ok_or(Failure::TooLarge)?.ranges().to_vec(),
        };
        let count = self.classes.len() as u32;
        let class = *self.classes.entry(ranges).or_insert(count);
        self.add(Instruction::Class(class))?;
        Ok(())
    }

    fn alternation(&mut self, alternatives: &[Hir]) -> Result<(), Failure> {
        let Some((last, others)) = alternatives.split_last() else { return Ok(()) };
        let mut exits = Vec::new();
        for alternative in others {
            let split = self.add(Instruction::Split(0, 0))?;
            self.element(alternative)?;
            exits.push(self.add(Instruction::Jump(0))?);
            self.set(split, Instruction::Split(split + 1, self.end()));
        }
        self.element(last)?;
        let end = self.end();
        exits.into_iter().for_each(|exit| self.set(exit, Instruction::Jump(end)));
        Ok(())
    }

    /// `x{2,4}` becomes `xx(x(x)?)?`, and `x*` becomes `(x+)?` if `x` can be empty, as in Go.
    fn repetition(&mut self, repetition: &Repetition) -> Result<(), Failure> {
        let Repetition { min, max, greedy, ref sub } = *repetition;
        if (min, max) == (0, None) && sub.properties().minimum_len() != Some(0) {
            let split = self.add(Instruction::Split(0, 0))?;
            self.element(sub)?;
            self.add(Instruction::Jump(split))?;
            self.set(split, split_by(greedy, split + 1, self.end()));
            return Ok(());
        }
        let optional = max.map_or(u32::from(min == 0), |max| max.saturating_sub(min));
        let mut last = self.end();
        let mut exits = Vec::new();
        let mut first = None;
        for copy in 0..min.saturating_add(optional) {
            if copy >= min {
                exits.push(self.add(Instruction::Split(0, 0))?);
            }
            last = self.end();
            match &first {
                Some(first) => self.copy(first)?,
                None => first = Some(self.first(sub)?),
            }
        }
        if max.is_none() {
            let split = self.end();
            self.add(split_by(greedy, last, split + 1))?;
        }
        let end = self.end();
        exits.into_iter().for_each(|exit| self.set(exit, split_by(greedy, exit + 1, end)));
        Ok(())
    }

    /// Compiles the first copy of a repeated element.
    fn first(&mut self, element: &Hir) -> Result<Compiled, Failure> {
        let start = self.instructions.len();
        let size = self.size;
        self.element(element)?;
        Ok(Compiled { instructions: start..self.instructions.len(), size: self.size - size })
    }

    /// Appends a copy of an element. Its jumps have targets within it, or at its end.
    fn copy(&mut self, element: &Compiled) -> Result<(), Failure> {
        self.grow(element.instructions.len(), element.size)?;
        let distance = self.end() - element.instructions.start as u32;
        for at in element.instructions.clone() {
            let Some(original) = self.instructions.get(at).copied() else { break };
            self.instructions.push(match original {
                Instruction::Split(first, second) => Instruction::Split(first + distance, second + distance),
                Instruction::Jump(to) => Instruction::Jump(to + distance),
                other => other,
            });
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_elements_are_compiled_once() {
        let steps = StepBudget::unlimited();
        for (repetition, copies) in [("{1000}", 1_000), ("{0,900}", 900), ("{10,}", 10), ("{2,500}?", 500)] {
            let pattern = regex_syntax::parse(&format!(r"(?:\pL|(?:\pN\d{{2}}|a*)+){repetition}")).unwrap();
            let mut compiler = Compiler::new(&steps);
            compiler.element(&pattern).unwrap();
            assert!(compiler.visited <= 16, "{}", compiler.visited);
            assert!(compiler.size > 8 * copies && compiler.instructions.len() > 8 * copies, "{repetition}");
        }
    }

    #[test]
    fn matches_share_the_threads_of_a_search() {
        let steps = StepBudget::unlimited();
        let program = Program::compile(&regex_syntax::parse("a|(b{100}){10}").unwrap(), &steps).unwrap();
        let mut search = program.search(&steps).unwrap();
        let memory = |search: &Search<'_>| {
            let indexes = [&search.current, &search.next].map(|threads| threads.index.as_ptr());
            (indexes.iter().min().copied(), indexes.iter().max().copied())
        };
        let before = memory(&search);
        for from in 0..100 {
            assert_eq!(search.find_at(&"a".repeat(100), from), Ok(Some(from..from + 1)));
        }
        assert_eq!(memory(&search), before);
    }
}
