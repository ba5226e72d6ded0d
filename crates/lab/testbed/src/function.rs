//! Function documents: the command of a media function, its ports, files, parameters, and when it is ready. All functions are
//! such documents, the built-in ones too. It must not know which tasks run them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use weir_net::bounded_file;

use crate::error::{TestbedError, one_line};
use crate::form::Form;

/// Port on which every function listens, in a namespace of its own.
pub const PORT: u16 = 8080;
/// Parameter of a relay with host and port of the server.
pub(crate) const ADDRESS: &str = "address";
/// Parameter of a relay that agrees to load on another host.
pub(crate) const AGREED: &str = "yes-really-load-this-host";
/// Maximum size of a document, bytes.
pub const MOST_BYTES: u64 = 1 << 20;

/// The built-in documents.
const BUILT_IN: [&str; 13] = [
    include_str!("functions/weir-source.toml"),
    include_str!("functions/s3-source.toml"),
    include_str!("functions/cache.toml"),
    include_str!("functions/varnish.toml"),
    include_str!("functions/origin.toml"),
    include_str!("functions/s3-origin.toml"),
    include_str!("functions/nginx-packaged.toml"),
    include_str!("functions/balancer.toml"),
    include_str!("functions/edge.toml"),
    include_str!("functions/address.toml"),
    include_str!("functions/weir-sink.toml"),
    include_str!("functions/weir-capacity.toml"),
    include_str!("functions/locust.toml"),
];

/// A function document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Function {
    /// Its name in workflows.
    pub id: String,
    /// A sentence.
    pub description: String,
    /// Input ports: servers that it reads from.
    #[serde(default)]
    pub inputs: Vec<String>,
    /// Input ports that may be left open.
    #[serde(default)]
    pub optional_inputs: Vec<String>,
    /// Output ports.
    #[serde(default)]
    pub outputs: Vec<String>,
    /// Program and arguments. A word that is filled with nothing is left out.
    #[serde(default)]
    pub command: Vec<String>,
    /// Programs that it needs on its host.
    #[serde(default, rename = "program")]
    pub programs: Vec<ProgramSpec>,
    /// In place of a command: connections are carried to the server at the parameter `address`.
    #[serde(default)]
    pub relay: bool,
    /// What it serves of its own; none: what its input serves.
    #[serde(default)]
    pub content: Option<Content>,
    /// Path of the manifest on it; `{manifest}` is the path on its input [default: the same].
    #[serde(default)]
    pub manifest: Option<String>,
    /// When it can take requests.
    #[serde(default)]
    pub ready: Ready,
    /// Its own metrics, for a cross-check.
    #[serde(default)]
    pub metrics: Option<OwnMetrics>,
    /// A log in its folder whose lines begin with nginx's `$upstream_cache_status` or Varnish's `%{Varnish:handling}x`.
    #[serde(default)]
    pub cache_log: Option<String>,
    /// Parameters by name.
    #[serde(default)]
    pub parameters: BTreeMap<String, ParameterSpec>,
    /// Files to write into its folder.
    #[serde(default, rename = "file")]
    pub files: Vec<FileSpec>,
}

/// A program that a function needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProgramSpec {
    /// Its name or path; may have placeholders of parameters.
    pub name: String,
    /// How it is installed, after the words "install it with".
    pub install: String,
}

/// What a function serves of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Content {
    /// A title as files.
    Title,
    /// A title packaged ahead: manifests and segments as files.
    Packaged,
}

/// When a function can take requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ready {
    /// It accepts connections.
    #[default]
    Listening,
    /// At once: it is a client, and the workflow is done when it ends.
    Sink,
}

/// Metrics in the text format of Prometheus.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OwnMetrics {
    /// Path.
    pub path: String,
    /// Counter of bytes that it read from its storage.
    #[serde(rename = "in")]
    pub taken: Option<String>,
    /// Counter of bytes that it sent.
    #[serde(rename = "out")]
    pub sent: Option<String>,
}

/// A parameter of a function; all are text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ParameterSpec {
    /// What it is for.
    pub description: String,
    /// Value where a task sets none.
    #[serde(default)]
    pub default: String,
}

/// A file of a function.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileSpec {
    /// Its name in the function's folder.
    pub name: String,
    /// Its text.
    pub text: String,
}

impl Function {
    /// Reads a document.
    ///
    /// # Errors
    /// What is wrong with it, in a line.
    pub fn read(text: &str, form: Form) -> Result<Self, TestbedError> {
        let function: Function = form.parse(text)?;
        function.check()?;
        Ok(function)
    }

    /// Refuses what cannot be run: placeholders that nobody fills, files outside of its folder.
    fn check(&self) -> Result<(), TestbedError> {
        let wrong = |what: String| {
            Err(TestbedError::Document(one_line(&format!(
                "function {}: {what}",
                self.id
            ))))
        };
        let parameters = self
            .parameters
            .iter()
            .flat_map(|(name, spec)| [name, &spec.description, &spec.default]);
        let shown = [&self.id, &self.description].into_iter().chain(parameters);
        let programs = self
            .programs
            .iter()
            .flat_map(|program| [&program.name, &program.install]);
        if shown
            .chain(programs)
            .chain(self.all_inputs())
            .chain(&self.outputs)
            .any(|text| text.chars().any(char::is_control))
        {
            return wrong("names, descriptions and defaults have no control characters".to_owned());
        }
        if self.command.is_empty() != self.relay {
            return wrong(
                "command: write a program with its arguments, or relay = true, not both".to_owned(),
            );
        }
        if self.relay
            && ![ADDRESS, AGREED]
                .iter()
                .all(|name| self.parameters.contains_key(*name))
        {
            return wrong(format!("relay: it needs the parameters {ADDRESS} and {AGREED}"));
        }
        if self.inputs.is_empty() && self.content.is_none() && !self.relay {
            return wrong("inputs: a function without content of its own needs an input port".to_owned());
        }
        let plain = |name: &str| !name.is_empty() && !name.contains('/') && name != "." && name != "..";
        let names = self.files.iter().map(|file| &file.name).chain(&self.cache_log);
        if let Some(name) = names.into_iter().find(|name| !plain(name)) {
            return wrong(format!("file: '{name}' is not a file name"));
        }
        let texts = self.files.iter().map(|file| &file.text).chain(&self.command);
        for text in texts.chain(&self.manifest) {
            if let Some(unknown) = placeholders(text).find(|name| !self.fills(name)) {
                let known = self
                    .parameters
                    .keys()
                    .map(String::as_str)
                    .collect::<Vec<_>>()
                    .join(", ");
                return wrong(format!(
                    "placeholder {{{unknown}}} is unknown; known: {}, and the parameters {known}",
                    PLACEHOLDERS.join(", ")
                ));
            }
        }
        Ok(())
    }

    fn fills(&self, name: &str) -> bool {
        let port = ["upstream.", "upstream-authority."]
            .iter()
            .find_map(|prefix| name.strip_prefix(prefix));
        PLACEHOLDERS.contains(&name)
            || self.parameters.contains_key(name)
            || port.is_some_and(|port| self.all_inputs().any(|input| input == port))
    }

    /// All input ports, the required ones first.
    pub fn all_inputs(&self) -> impl Iterator<Item = &String> {
        self.inputs.iter().chain(&self.optional_inputs)
    }
}

/// Placeholders besides parameters, `upstream.PORT` and `upstream-authority.PORT`.
const PLACEHOLDERS: [&str; 9] = [
    "port",
    "dir",
    "weir",
    "threads",
    "content",
    "upstream",
    "upstream-authority",
    "manifest",
    "database",
];

/// Names in braces: letters, digits, `-`, `_` and `.`; other braces, as in the configuration of nginx, are text.
fn placeholders(text: &str) -> impl Iterator<Item = &str> {
    text.split('{').skip(1).filter_map(|rest| {
        let (name, _) = rest.split_once('}')?;
        is_name(name).then_some(name)
    })
}

fn is_name(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_.".contains(c);
    text.starts_with(|c: char| c.is_ascii_lowercase()) && text.chars().all(plain)
}

/// Fills the placeholders of a text; what a value holds is not filled again.
pub fn fill(text: &str, values: &BTreeMap<String, String>) -> String {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        filled.push_str(before);
        match after.split_once('}').filter(|(name, _)| is_name(name)) {
            Some((name, after)) => {
                filled.push_str(values.get(name).map_or("", String::as_str));
                rest = after;
            }
            None => {
                filled.push('{');
                rest = after;
            }
        }
    }
    filled.push_str(rest);
    filled
}

/// Fills the text of a file. A line with a placeholder that has no value, as one of an open input port, is left out.
pub fn fill_file(text: &str, values: &BTreeMap<String, String>) -> String {
    let has_all = |line: &&str| placeholders(line).all(|name| values.contains_key(name));
    text.split_inclusive('\n')
        .filter(has_all)
        .map(|line| fill(line, values))
        .collect()
}

/// Fills the words of a command. A word that is one placeholder becomes its value's words, of which there may be none; of other
/// words, those with an empty value are left out.
pub fn fill_command(command: &[String], values: &BTreeMap<String, String>) -> Vec<String> {
    let empty = |name: &str| values.get(name).is_none_or(String::is_empty);
    let mut words = Vec::new();
    for word in command {
        let only = word.strip_prefix('{').and_then(|word| word.strip_suffix('}'));
        match only.filter(|name| is_name(name)) {
            Some("options") => {
                let options = values.get("options").map_or("", String::as_str);
                words.extend(options.split_whitespace().map(str::to_owned));
            }
            _ if placeholders(word).any(empty) => {}
            _ => words.push(fill(word, values)),
        }
    }
    words
}

/// The functions that a workflow may use.
#[derive(Clone, Debug, Default)]
pub struct Functions(Vec<Function>);

impl Functions {
    /// The built-in ones.
    ///
    /// # Errors
    /// None: the documents are part of the program, and a test reads them.
    pub fn built_in() -> Result<Self, TestbedError> {
        let functions = BUILT_IN.iter().map(|text| Function::read(text, Form::Toml));
        Ok(Functions(functions.collect::<Result<_, _>>()?))
    }

    /// Adds the document in a file. It takes the place of a function of the same name.
    ///
    /// # Errors
    /// What is wrong with it, in a line.
    pub fn add(&mut self, path: &Path) -> Result<(), TestbedError> {
        let text = read_file(path)?;
        let function = Function::read(&text, Form::of(path))
            .map_err(|error| TestbedError::Document(format!("{}: {error}", path.display())))?;
        self.0.retain(|known| known.id != function.id);
        self.0.push(function);
        Ok(())
    }

    /// The built-in functions and those in the files.
    ///
    /// # Errors
    /// What is wrong with a file, in a line.
    pub fn with(files: &[PathBuf]) -> Result<Self, TestbedError> {
        let mut functions = Functions::built_in()?;
        files.iter().try_for_each(|file| functions.add(file))?;
        Ok(functions)
    }

    /// The function of this name.
    pub fn get(&self, id: &str) -> Option<&Function> {
        self.0.iter().find(|function| function.id == id)
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Function> {
        self.0.iter()
    }
}

/// Text of a file of at most [`MOST_BYTES`].
pub(crate) fn read_file(path: &Path) -> Result<String, TestbedError> {
    let failed = |error| TestbedError::Document(format!("cannot read {}: {error}", path.display()));
    bounded_file::read_text(path, MOST_BYTES).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect()
    }

    #[test]
    fn the_built_in_documents_are_right() {
        let functions = Functions::built_in().expect("documents");
        assert_eq!(functions.iter().count(), BUILT_IN.len());
        assert!(
            functions
                .get("origin")
                .is_some_and(|origin| origin.metrics.is_some())
        );
    }

    #[test]
    fn placeholders_are_filled_and_other_braces_stay() {
        let values = values(&[("port", "80"), ("x", "{port}")]);
        let text = "server { listen {port}; } ${port} {x} {";
        assert_eq!(fill(text, &values), "server { listen 80; } $80 {port} {");
    }

    #[test]
    fn lines_of_open_input_ports_are_left_out_of_files() {
        let values = values(&[
            ("upstream-authority.in", "10.0.0.1:80"),
            ("port", "80"),
            ("more", ""),
        ]);
        let text =
            "bind :{port} {more}\nserver a {upstream-authority.in}\nserver b {upstream-authority.in2}\nend {";
        assert_eq!(fill_file(text, &values), "bind :80 \nserver a 10.0.0.1:80\nend {");
    }

    #[test]
    fn words_with_nothing_are_left_out_and_options_are_split() {
        let values = values(&[("zipf", ""), ("options", " --a 1  --b"), ("viewers", "0..50")]);
        let command = ["load", "--viewers={viewers}", "--zipf={zipf}", "{options}"].map(str::to_owned);
        assert_eq!(
            fill_command(&command, &values),
            ["load", "--viewers=0..50", "--a", "1", "--b"]
        );
    }

    #[test]
    fn what_cannot_be_run_is_refused_in_a_line() {
        let said = |text: &str| Function::read(text, Form::Toml).expect_err(text).to_string();
        let base = "id = 'x'\ndescription = 'y'\ninputs = ['in']\n";
        assert!(said(&format!("{base}command = ['a', '{{nonsense}}']")).contains("{nonsense}"));
        assert!(said(&format!("{base}command = []")).contains("command"));
        let escape = "id = 'x'\ndescription = \"\\u001b[2J\"\ninputs = ['in']\ncommand = ['a']";
        assert!(said(escape).contains("control characters"));
        assert!(said(&format!("{base}relay = true")).contains("yes-really-load-this-host"));
        assert!(said("id = 'x'\ndescription = 'y'\ncommand = ['a']").contains("input port"));
        let file = "command = ['a']\n[[file]]\nname = '../a'\ntext = ''";
        assert!(said(&format!("{base}{file}")).contains("'../a'"));
        assert!(said(&format!("{base}command = ['a']\nnonsense = 1")).starts_with("line 5"));
        assert!(Function::read(&format!("{base}command = ['a', '{{upstream.in}}']"), Form::Toml).is_ok());
    }
}
