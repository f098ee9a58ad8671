//! Generated files: their generators, inputs and outputs.

use std::path::Path;
use std::process::Command;

use crate::error::Error;
use crate::tree::{output, root};

/// A generator of committed files.
struct Generator {
    name: &'static str,
    /// Program and first arguments; the inputs follow.
    command: &'static [&'static str],
    /// Names of the required inputs, which are files or directories.
    inputs: &'static [&'static str],
    /// The first output receives the standard output, if `writes` is `ToStdout`.
    outputs: &'static [&'static str],
    writes: Writes,
}

#[derive(PartialEq, Eq)]
enum Writes {
    ToStdout,
    ItsFiles,
}

const GENERATORS: [Generator; 8] = [
    Generator {
        name: "printable",
        command: &["go", "run", "tools/printable.go"],
        inputs: &[],
        outputs: &["pkg/apimachinery/src/go_quote/printable.rs"],
        writes: Writes::ToStdout,
    },
    Generator {
        name: "gates",
        command: &["python3", "tools/feature-gates.py"],
        inputs: &["GATES.json", "UPSTREAM"],
        outputs: &["pkg/component-base/src/features/table.rs"],
        writes: Writes::ToStdout,
    },
    Generator {
        name: "bootstrap",
        command: &["python3", "tools/bootstrap-objects.py"],
        inputs: &["DUMP.json"],
        outputs: &["pkg/controllers/src/bootstrap/objects.jsonl"],
        writes: Writes::ToStdout,
    },
    Generator {
        name: "descriptions",
        command: &["python3", "tools/api-descriptions.py"],
        inputs: &["SWAGGER.json", "MODELS.json"],
        outputs: &["pkg/api/build/descriptions.json"],
        writes: Writes::ToStdout,
    },
    Generator {
        name: "described-types",
        command: &["python3", "tools/described-types.py"],
        inputs: &[],
        outputs: &["pkg/api/build/types.rs"],
        writes: Writes::ToStdout,
    },
    Generator {
        name: "openapi-digests",
        command: &["python3", "tools/openapi-diff.py", "digests"],
        inputs: &["UPSTREAM/api/openapi-spec"],
        outputs: &["pkg/endpoints/testdata/openapi-digests.txt"],
        writes: Writes::ToStdout,
    },
    Generator {
        name: "overloads",
        command: &["python3", "tools/cel-overloads.py"],
        inputs: &["CEL.json", "CEL_GO"],
        outputs: &[
            "pkg/cel/src/overloads/ids.rs",
            "pkg/cel/src/overloads/signatures.rs",
            "pkg/cel/src/overloads/types.rs",
        ],
        writes: Writes::ItsFiles,
    },
    Generator {
        name: "docs",
        command: &["env", "WRITE_DOCS=1", "cargo", "test", "--package", "kube-apiserver", "document"],
        inputs: &[],
        outputs: &["docs/flags.md"],
        writes: Writes::ItsFiles,
    },
];

/// Lists the generators with inputs and outputs.
pub(crate) fn list() -> Result<(), Error> {
    for generator in &GENERATORS {
        println!("{}\n    {}", generator.usage(), generator.outputs.join("\n    "));
    }
    Ok(())
}

/// Writes the outputs of a generator.
///
/// # Errors
/// An unknown name, a missing input, or a failed generator. A failed generator of kind [`Writes::ToStdout`] leaves its output
/// unchanged.
pub(crate) fn write(name: &str, inputs: &[&str]) -> Result<(), Error> {
    find(name)?.write(inputs)
}

/// Fails if the outputs of a generator differ from the committed files, which stay as they are.
///
/// # Errors
/// As [`write`]; also the names of the outdated files.
pub(crate) fn check(name: &str, inputs: &[&str]) -> Result<(), Error> {
    let generator = find(name)?;
    let committed = generator.read_outputs()?;
    let generated = match generator.writes {
        Writes::ToStdout => vec![generator.print(inputs)?],
        Writes::ItsFiles => generator.write_and_restore(inputs, &committed)?,
    };
    let outdated = outdated(generator.outputs, &committed, &generated);
    if outdated.is_empty() { Ok(()) } else { Err(Error::Outdated(outdated.join(", "))) }
}

fn find(name: &str) -> Result<&'static Generator, Error> {
    GENERATORS.iter().find(|generator| generator.name == name).ok_or_else(|| {
        let names: Vec<&str> = GENERATORS.iter().map(|generator| generator.name).collect();
        Error::Unknown { kind: "generator", name: name.to_owned(), known: names.join(", ") }
    })
}

fn outdated<'p>(paths: &[&'p str], committed: &[Vec<u8>], generated: &[Vec<u8>]) -> Vec<&'p str> {
    let texts = committed.iter().zip(generated);
    paths.iter().zip(texts).filter(|(_, (before, after))| before != after).map(|(path, _)| *path).collect()
}

fn write_file(path: &str, text: &[u8]) -> Result<(), Error> {
    std::fs::write(root().join(path), text).map_err(Error::of(path))
}

impl Generator {
    fn usage(&self) -> String {
        [&[self.name], self.inputs].concat().join(" ")
    }

    /// Runs the generator, and returns its standard output.
    fn print(&self, inputs: &[&str]) -> Result<Vec<u8>, Error> {
        if inputs.len() != self.inputs.len() {
            return Err(Error::Usage(format!("usage: cargo xtask generate {}", self.usage())));
        }
        for (name, input) in self.inputs.iter().zip(inputs) {
            if !Path::new(input).exists() {
                return Err(Error::MissingInput { name, path: (*input).to_owned() });
            }
        }
        let absolute = |input: &&str| std::path::absolute(input).map_err(Error::of(*input));
        let paths = inputs.iter().map(absolute).collect::<Result<Vec<_>, _>>()?;
        output(Command::new(self.command[0]).args(&self.command[1..]).args(paths))
    }

    fn write(&self, inputs: &[&str]) -> Result<(), Error> {
        let printed = self.print(inputs)?;
        match self.writes {
            Writes::ToStdout => write_file(self.outputs[0], &printed),
            Writes::ItsFiles => Ok(()),
        }
    }

    /// Returns the outputs of a generator that writes them itself, and restores the committed files.
    fn write_and_restore(&self, inputs: &[&str], committed: &[Vec<u8>]) -> Result<Vec<Vec<u8>>, Error> {
        let written = self.print(inputs);
        let generated = self.read_outputs();
        for (path, text) in self.outputs.iter().zip(committed) {
            write_file(path, text)?;
        }
        written?;
        generated
    }

    fn read_outputs(&self) -> Result<Vec<Vec<u8>>, Error> {
        let read = |path: &&str| std::fs::read(root().join(path)).map_err(Error::of(*path));
        self.outputs.iter().map(read).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_and_scripts_exist() {
        for generator in &GENERATORS {
            let scripts = generator.command.iter().copied().filter(|word| word.starts_with("tools/"));
            for path in scripts.chain(generator.outputs.iter().copied()) {
                assert!(root().join(path).is_file(), "{}: {path}", generator.name);
            }
        }
    }

    #[test]
    fn missing_input_is_named() {
        let message = |name: &str, inputs: &[&str]| write(name, inputs).unwrap_err().to_string();
        assert_eq!(message("bootstrap", &[]), "usage: cargo xtask generate bootstrap DUMP.json");
        assert_eq!(message("bootstrap", &["/absent"]), "DUMP.json: /absent does not exist");
        assert!(
            message("bootstraps", &[]).starts_with("no generator is named bootstraps; known: printable,")
        );
    }

    #[test]
    fn changed_output_is_outdated() {
        assert_eq!(outdated(&["a", "b"], &[vec![1], vec![2]], &[vec![1], vec![3]]), ["b"]);
    }
}
