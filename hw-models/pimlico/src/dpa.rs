// SPDX-License-Identifier: MIT
//! `pimlico dpa`: programs of direct PIM access, between text, words and what they dispatch.

mod build;

use crate::failure::Failure;
use crate::files::{self, Output};
use crate::output::{self, FormatArguments, Page};
use crate::schema::Kind;
use clap::{Args, Subcommand};
use pimlico_dpa::{
    COMMANDS, Dispatch, ENTRIES, ExpandError, Expansion, NO_ROW, REQUESTS, Request, TOKEN_BITS,
    Tables,
};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Arguments of `pimlico dpa`.
#[derive(Args)]
pub struct DpaArguments {
    #[command(subcommand)]
    action: Action,
}

/// The text of a program, for the help.
macro_rules! text_form {
    () => {
        "\
The text of a program; # begins a comment:
  loop all/512 {
    loop part/16 {
      mac_score row=0+1@2 column=0+1@1 first last opens@1,2
      rd_result place=0+16@1+512@2 first@1,2
    }
  }
  end
N+S@L: N, and S more in each repetition of the Lth loop from the inside.
all/512: once for each 512 tokens; part/16: once for each 16 of these.
`pimlico dpa build --text` writes the text of larger programs."
    };
}

#[derive(Subcommand)]
enum Action {
    /// Make the words of a program's text
    #[command(after_help = concat!("Example:\n  pimlico dpa assemble score.txt score.bin\n\n", text_form!()))]
    Assemble {
        /// The text
        input: PathBuf,
        /// The file of the words, eight bytes each, lowest first; an existing file is replaced, `-` is standard output
        output: PathBuf,
    },
    /// Write the program of an operator: one for every context, as `pimlico run` runs it
    Build(build::BuildArguments),
    /// Show the text of a program's words
    #[command(after_help = "Example:\n  pimlico dpa disassemble score.bin")]
    Disassemble {
        /// The words
        input: PathBuf,
    },
    /// Show what the dispatcher makes of a program
    #[command(after_help = concat!("\
Examples:
  pimlico dpa expand score.txt --tcur 5=530 --limit 5
  pimlico dpa expand score.bin --tcur 5=530,2=40 --va2pa rows.txt

FILE of --va2pa, for request 5 of 1 024 tokens; # begins a comment:
  # request, virtual row, row
  5 0 100
  5 1 7

", text_form!()))]
    Expand {
        /// The program: words if the name ends with `.bin`, otherwise text
        input: PathBuf,
        /// The requests to run, in this order, and the tokens of each
        #[arg(long, required = true, value_delimiter = ',', value_name = "R=N", value_parser = tcur)]
        tcur: Vec<(u8, u32)>,
        /// Rows of the requests' virtual rows, each in a line: request, virtual row, row [default: a
        /// virtual row is the row]
        #[arg(long, value_name = "FILE")]
        va2pa: Option<PathBuf>,
        /// Commands of each request to show
        #[arg(long, default_value_t = 1000, value_name = "N")]
        limit: usize,
        #[command(flatten)]
        format: FormatArguments,
    },
}

/// Bytes of a text, at the most: more than the longest program needs.
const MAX_TEXT: usize = 4 << 20;

/// Bytes of a program's words, at the most.
const MAX_BYTES: usize = 8 * COMMANDS;

/// Runs the command.
pub fn run(arguments: &DpaArguments) -> Result<(), Failure> {
    match &arguments.action {
        Action::Assemble { input, output } => assemble(input, output),
        Action::Build(arguments) => build::run(arguments),
        Action::Disassemble { input } => output::print(&pimlico_dpa::disassemble(&words(input)?)),
        Action::Expand { input, tcur, va2pa, limit, format } => {
            let program = Program::read(input)?;
            let tables = tables(tcur, va2pa.as_deref())?;
            expand(&program, tcur, &tables, *limit, *format)
        }
    }
}

fn assemble(input: &Path, output: &Path) -> Result<(), Failure> {
    let opened = Output::open(output)?;
    let to_stdout = opened.is_stdout();
    let words = Program::of_text(input)?.words;
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    opened.write(&bytes)?;
    let what = format!("{} words, {} bytes", words.len(), bytes.len());
    output::tell_written(output, to_stdout, &what)
}

/// Reads a program: words if the file's name ends with `.bin`, otherwise text.
pub fn read(file: &Path) -> Result<Vec<u64>, Failure> {
    Ok(Program::read(file)?.words)
}

/// A program, from wherever it comes.
struct Program {
    file: PathBuf,
    words: Vec<u64>,
    /// Of a text, line and column of each word.
    places: Vec<(usize, usize)>,
}

impl Program {
    fn read(file: &Path) -> Result<Self, Failure> {
        if file.extension().is_some_and(|extension| extension == "bin") {
            return Ok(Self { file: file.to_owned(), words: words(file)?, places: Vec::new() });
        }
        Self::of_text(file)
    }

    fn of_text(file: &Path) -> Result<Self, Failure> {
        let text = text(file)?;
        let assembled = pimlico_dpa::assemble_lines(&text)
            .map_err(|e| Failure::Input(format!("{}:{e}", file.display())))?;
        let columns: Vec<usize> = text
            .lines()
            .map(|line| line.chars().take_while(|c| c.is_whitespace()).count())
            .collect();
        let place = |line: usize| (line, columns[line - 1] + 1);
        let places = assembled.lines.into_iter().map(place).collect();
        Ok(Self { file: file.to_owned(), words: assembled.words, places })
    }

    /// Where a word comes from.
    fn place(&self, address: usize) -> String {
        let file = self.file.display();
        match self.places.get(address) {
            Some((line, column)) => format!("{file}:{line}:{column}"),
            None => format!("{file}: word {address}"),
        }
    }
}

/// Reads a program's words.
fn words(file: &Path) -> Result<Vec<u64>, Failure> {
    let bytes = files::read(file, MAX_BYTES)?;
    let (words, rest) = bytes.as_chunks();
    if !rest.is_empty() {
        let (file, bytes) = (file.display(), bytes.len());
        let expected = "expected words of eight bytes each";
        return Err(Failure::Input(format!("{file}: {bytes} bytes, {expected}")));
    }
    Ok(words.iter().map(|word| u64::from_le_bytes(*word)).collect())
}

fn text(file: &Path) -> Result<String, Failure> {
    String::from_utf8(files::read(file, MAX_TEXT)?).map_err(|error| {
        let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let before = String::from_utf8_lossy(before);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
        Failure::Input(format!("{}:{line}:{column}: expected text in UTF-8", file.display()))
    })
}

/// A value of `--tcur`.
fn tcur(text: &str) -> Result<(u8, u32), String> {
    let (request, tokens) = text.split_once('=').ok_or("expected REQUEST=TOKENS")?;
    let request = request.parse().ok().filter(|&request| usize::from(request) < REQUESTS);
    let tokens = tokens.parse().ok().filter(|&tokens: &u32| tokens >> TOKEN_BITS == 0);
    let request =
        request.ok_or_else(|| format!("expected a request from 0 to {}", REQUESTS - 1))?;
    let tokens = tokens.ok_or_else(|| format!("expected less than {} tokens", 1 << TOKEN_BITS))?;
    Ok((request, tokens))
}

fn tables(tcur: &[(u8, u32)], va2pa: Option<&Path>) -> Result<Tables, Failure> {
    let mut tables = Tables::default();
    for (n, &(request, tokens)) in tcur.iter().enumerate() {
        if tcur[..n].iter().any(|&(other, _)| other == request) {
            return Err(Failure::Input(format!("--tcur: request {request} is given twice")));
        }
        tables.requests[usize::from(request)].tokens = tokens;
    }
    let Some(file) = va2pa else { return Ok(tables) };

    // The virtual rows of each request, one segment behind the other.
    let rows = rows(file)?;
    for &(request, virtual_row, _) in &rows {
        let Request { rows, .. } = &mut tables.requests[usize::from(request)];
        *rows = (*rows).max(virtual_row.saturating_add(1));
    }
    let mut entries = 0;
    for request in &mut tables.requests {
        request.base = u16::try_from(entries).unwrap_or(u16::MAX);
        entries += usize::from(request.rows);
    }
    if entries > ENTRIES {
        let file = file.display();
        let problem = format!("the requests' virtual rows take {entries} entries of {ENTRIES}");
        return Err(Failure::Input(format!("{file}: {problem}")));
    }
    let mut table = vec![NO_ROW; entries];
    for (line, (request, virtual_row, row)) in (1..).zip(rows) {
        let base = tables.requests[usize::from(request)].base;
        let entry = &mut table[usize::from(base) + usize::from(virtual_row)];
        if *entry != NO_ROW {
            let file = file.display();
            let problem = format!("virtual row {virtual_row} of request {request} is given twice");
            return Err(Failure::Input(format!("{file}: entry {line}: {problem}")));
        }
        *entry = row;
    }
    tables.va2pa = Some(table);
    Ok(tables)
}

/// Reads lines of request, virtual row and row.
fn rows(file: &Path) -> Result<Vec<(u8, u16, u16)>, Failure> {
    let text = text(file)?;
    let mut rows = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.split('#').next().unwrap_or("");
        let mut numbers = [0; 3];
        let mut at = 0;
        let places =
            [("a request", REQUESTS - 1), ("a virtual row", ENTRIES - 1), ("a row", 65534)];
        if line.trim().is_empty() {
            continue;
        }
        for (value, (what, most)) in numbers.iter_mut().zip(places) {
            at += line[at..].len() - line[at..].trim_start().len();
            let word = line[at..].split_whitespace().next().unwrap_or("");
            let found = word.parse().ok().filter(|number| *number <= most);
            *value = found.ok_or_else(|| {
                let problem = format!("expected {what} from 0 to {most}");
                Failure::Input(format!(
                    "{}:{number}:{}: {problem}",
                    file.display(),
                    column(line, at)
                ))
            })?;
            at += word.len();
        }
        if !line[at..].trim().is_empty() {
            let column = column(line, at + line[at..].len() - line[at..].trim_start().len());
            let problem = "expected the end of the line";
            return Err(Failure::Input(format!("{}:{number}:{column}: {problem}", file.display())));
        }
        rows.push((numbers[0] as u8, numbers[1] as u16, numbers[2] as u16));
    }
    Ok(rows)
}

fn column(line: &str, at: usize) -> usize {
    line[..at].chars().count() + 1
}

/// What `--json` prints.
#[derive(Serialize)]
struct Document {
    file: String,
    words: usize,
    bytes: usize,
    requests: Vec<RequestDocument>,
}

#[derive(Serialize)]
struct RequestDocument {
    request: u8,
    tcur: u32,
    /// END was reached within the limit.
    complete: bool,
    commands: Vec<CommandDocument>,
    /// What stopped the request behind these.
    fault: Option<FaultDocument>,
}

#[derive(Serialize)]
struct FaultDocument {
    /// Where in the file.
    place: String,
    /// Address of the word.
    word: usize,
    fault: String,
}

#[derive(Serialize)]
struct CommandDocument {
    command: &'static str,
    request: u64,
    head: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    row: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    place: Option<u64>,
    column: u8,
    word: u8,
    first: bool,
    last: bool,
    opens: bool,
    tokens: u64,
}

impl From<Dispatch> for CommandDocument {
    fn from(command: Dispatch) -> Self {
        let Dispatch { kind, row, column, word, first, last, opens, .. } = command;
        let has_row = kind.has_row();
        Self {
            command: kind.name(),
            request: command.request.get(),
            head: command.head.get(),
            row: has_row.then_some(row),
            place: (!has_row).then_some(command.place.get()),
            column,
            word,
            first,
            last,
            opens,
            tokens: command.tokens.get(),
        }
    }
}

fn expand(
    program: &Program,
    tcur: &[(u8, u32)],
    tables: &Tables,
    limit: usize,
    format: FormatArguments,
) -> Result<(), Failure> {
    let request =
        |&(request, tcur): &(u8, u32)| of_request(program, tables, (request, tcur), limit);
    let requests = tcur.iter().map(request).collect();
    let words = program.words.len();
    let file = program.file.display().to_string();
    let document = Document { file, words, bytes: 8 * words, requests };
    output::report(format, (Kind::DpaExpand, &document), &text_of(&document, tables))?;
    let faults = document.requests.iter().filter_map(|request| {
        let FaultDocument { place, fault, .. } = request.fault.as_ref()?;
        Some(format!("{place}: request {}: {fault}", request.request))
    });
    match faults.collect::<Vec<_>>().join("; ") {
        faults if faults.is_empty() => Ok(()),
        faults => Err(Failure::Check(faults)),
    }
}

/// What is dispatched for a request, up to the limit or a fault: that stops no other request.
fn of_request(
    program: &Program,
    tables: &Tables,
    (request, tcur): (u8, u32),
    limit: usize,
) -> RequestDocument {
    let mut expansion = Expansion::new(&program.words, tables, request);
    let (mut commands, mut fault) = (Vec::new(), None);
    let mut complete = false;
    loop {
        match expansion.next() {
            None => complete = true,
            Some(Ok(command)) if commands.len() < limit => {
                commands.push(CommandDocument::from(command));
                continue;
            }
            Some(Ok(_)) => {}
            Some(Err(ExpandError { status, address })) => {
                let (place, fault_is) = (program.place(address), status.to_string());
                fault = Some(FaultDocument { place, word: address, fault: fault_is });
            }
        }
        return RequestDocument { request, tcur, complete, commands, fault };
    }
}

/// The document for people.
fn text_of(document: &Document, tables: &Tables) -> Page {
    let Document { file, words, bytes, requests } = document;
    let mut text = Page::from(format!("{file}: {words} words, {bytes} bytes\n"));
    for RequestDocument { request, tcur, complete, commands, fault } in requests {
        let more = match fault {
            Some(FaultDocument { place, fault, .. }) => {
                format!(", then a fault at {place}: {fault}")
            }
            None if *complete => String::new(),
            None => ", and more beyond --limit".to_owned(),
        };
        text += format!("\nrequest {request}, T_cur {tcur}: {} commands{more}\n\n", commands.len());
        text += output::table(
            &["command", "request", "head", "row", "place", "column", "word", "flags", "tokens"],
            commands.iter().map(row_of),
        );
    }
    if tables.va2pa.is_none() {
        text += "\nnote: rows are virtual rows, as there is no --va2pa\n";
    }
    text
}

/// A row of the table.
fn row_of(command: &CommandDocument) -> Vec<String> {
    let CommandDocument { command: name, request, head, row, place, column, word, .. } = command;
    let CommandDocument { first, last, opens, tokens, .. } = command;
    let flags = [(*first, "first"), (*last, "last"), (*opens, "opens")];
    let flags: Vec<&str> = flags.iter().filter(|flag| flag.0).map(|flag| flag.1).collect();
    vec![
        (*name).to_owned(),
        request.to_string(),
        head.to_string(),
        row.map(|row| row.to_string()).unwrap_or_default(),
        place.map(|place| place.to_string()).unwrap_or_default(),
        column.to_string(),
        word.to_string(),
        flags.join(" "),
        tokens.to_string(),
    ]
}
