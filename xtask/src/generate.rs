//! Generated files: their generators, inputs and outputs.

mod declarative;

use std::path::Path;
use std::process::Command;

use crate::error::Error;
use crate::tidy::gates;
use crate::tree::{self, output, root};

/// A generator of committed files.
struct Generator {
    name: &'static str,
    /// Program and first arguments; the inputs follow. Empty for a function.
    command: &'static [&'static str],
    /// Names of the required inputs, which are files or directories. `FACTS` is a folder with the facts of a release.
    inputs: &'static [&'static str],
    /// The first output receives the standard output, if `writes` is `ToStdout`.
    outputs: &'static [&'static str],
    writes: Writes,
}

enum Writes {
    ToStdout,
    ItsFiles,
    /// A function of this program returns the first output.
    Returned(fn(&[&Path]) -> Result<Vec<u8>, Error>),
}

const GENERATORS: [Generator; 16] = [
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
        inputs: &["FACTS/features.json", "FACTS/feature_dependencies.json"],
        outputs: &["pkg/component-base/src/features/table.rs"],
        writes: Writes::ToStdout,
    },
    Generator {
        name: "flags",
        command: &["python3", "tools/flags.py"],
        inputs: &["FACTS/flags.json"],
        outputs: &["cmd/kube-apiserver/src/flags/table.rs"],
        writes: Writes::ToStdout,
    },
    Generator {
        name: "plugins",
        command: &["python3", "tools/admission-plugins.py"],
        inputs: &["FACTS/admission.json"],
        outputs: &["pkg/controlplane/src/admission/table/plugins.rs"],
        writes: Writes::ToStdout,
    },
    Generator {
        name: "metrics",
        command: &["python3", "tools/metrics.py", "guaranteed"],
        inputs: &["FACTS/metrics.json"],
        outputs: &["e2e/tests/deploy/metrics.json"],
        writes: Writes::ToStdout,
    },
    Generator {
        name: "metrics-alpha",
        command: &["python3", "tools/metrics.py", "alpha"],
        inputs: &["FACTS/metrics.json"],
        outputs: &["e2e/tests/deploy/metrics-alpha.json"],
        writes: Writes::ToStdout,
    },
    Generator {
        name: "bootstrap",
        command: &["python3", "tools/bootstrap-objects.py"],
        inputs: &["FACTS/bootstrap.json", "FACTS/bootstrap_all_gates.json"],
        outputs: &["pkg/controllers/src/bootstrap/objects.jsonl"],
        writes: Writes::ToStdout,
    },
    Generator {
        name: "emulated-releases",
        command: &["python3", "tools/emulated-releases.py"],
        inputs: &["FACTS/features.json", "FACTS/resources.json"],
        outputs: &["e2e/tests/emulation/releases.txt"],
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
        name: "declarative",
        command: &[],
        inputs: &["FACTS/declarative.json"],
        outputs: &["pkg/kinds/src/declarative/table.rs"],
        writes: Writes::Returned(declarative::table),
    },
    Generator {
        name: "implemented-gates",
        command: &[],
        inputs: &[],
        outputs: &[gates::LIST],
        writes: Writes::Returned(implemented_gates),
    },
    Generator {
        name: "gate-document",
        command: &[],
        inputs: &[],
        outputs: &[gates::DOCUMENT],
        writes: Writes::Returned(gate_document),
    },
    Generator {
        name: "docs",
        command: &["env", "WRITE_DOCS=1", "cargo", "test", "--package", "kube-apiserver", "document"],
        inputs: &[],
        outputs: &["docs/flags.md"],
        writes: Writes::ItsFiles,
    },
];

fn implemented_gates(_: &[&Path]) -> Result<Vec<u8>, Error> {
    let sources = tree::files(&root(), |path| path.ends_with(".rs"));
    Ok(gates::list(&gates::read(&gates::sources(&sources))).into_bytes())
}

fn gate_document(_: &[&Path]) -> Result<Vec<u8>, Error> {
    let sources = tree::files(&root(), |path| path.ends_with(".rs"));
    let read = gates::read(&gates::sources(&sources));
    let document =
        std::fs::read_to_string(root().join(gates::DOCUMENT)).map_err(Error::of(gates::DOCUMENT))?;
    Ok(gates::document(&read, &document).into_bytes())
}

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
        Writes::ToStdout | Writes::Returned(_) => vec![generator.print(inputs)?],
        Writes::ItsFiles => generator.write_and_restore(inputs, &committed)?,
    };
    let outdated = outdated(generator.outputs, &committed, &generated);
    if outdated.is_empty() { Ok(()) } else { Err(Error::Outdated(outdated.join(", "))) }
}

/// Returns what the generators whose inputs are all facts make of this folder: paths from the root, and texts.
///
/// # Errors
/// As [`write`].
pub(crate) fn from_facts(folder: &Path) -> Result<Vec<(&'static str, Vec<u8>)>, Error> {
    let made = GENERATORS.iter().filter_map(|generator| Some((generator, generator.facts()?)));
    made.map(|(generator, facts)| {
        let paths: Vec<String> = facts.iter().map(|name| folder.join(name).display().to_string()).collect();
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        Ok((generator.outputs[0], generator.print(&paths)?))
    })
    .collect()
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
    /// Returns the files of the facts folder that are the inputs; `None` if there are others or none.
    fn facts(&self) -> Option<Vec<&'static str>> {
        let facts = self.inputs.iter().map(|input| input.strip_prefix("FACTS/")).collect::<Option<Vec<_>>>();
        facts.filter(|facts| !facts.is_empty())
    }

    fn usage(&self) -> String {
        [&[self.name], self.inputs].concat().join(" ")
    }

    /// Runs the generator, and returns its standard output or result.
    fn print(&self, inputs: &[&str]) -> Result<Vec<u8>, Error> {
        if inputs.len() != self.inputs.len() {
            return Err(Error::Usage(format!("usage: cargo xtask generate {}", self.usage())));
        }
        for (name, input) in self.inputs.iter().zip(inputs) {
            if !Path::new(input).exists() {
                return Err(Error::MissingInput { name, path: (*input).to_owned() });
            }
        }
        if let Writes::Returned(function) = self.writes {
            return function(&inputs.iter().map(Path::new).collect::<Vec<_>>());
        }
        let absolute = |input: &&str| std::path::absolute(input).map_err(Error::of(*input));
        let paths = inputs.iter().map(absolute).collect::<Result<Vec<_>, _>>()?;
        output(Command::new(self.command[0]).args(&self.command[1..]).args(paths))
    }

    fn write(&self, inputs: &[&str]) -> Result<(), Error> {
        let printed = self.print(inputs)?;
        match self.writes {
            Writes::ToStdout | Writes::Returned(_) => write_file(self.outputs[0], &printed),
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
        assert_eq!(message("plugins", &[]), "usage: cargo xtask generate plugins FACTS/admission.json");
        assert_eq!(message("plugins", &["/absent"]), "FACTS/admission.json: /absent does not exist");
        assert!(
            message("bootstraps", &[]).starts_with("no generator is named bootstraps; known: printable,")
        );
    }

    #[test]
    fn generators_with_facts_have_one_output() {
        let with_facts: Vec<_> = GENERATORS.iter().filter(|generator| generator.facts().is_some()).collect();
        assert!(with_facts.len() > 1 && with_facts.iter().all(|generator| generator.outputs.len() == 1));
    }

    #[test]
    fn changed_output_is_outdated() {
        assert_eq!(outdated(&["a", "b"], &[vec![1], vec![2]], &[vec![1], vec![3]]), ["b"]);
    }
}
