// SPDX-License-Identifier: MIT
//! Files that the command writes: whole or not at all, and never those of others.

use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const PIMLICO: &str = env!("CARGO_BIN_EXE_pimlico");

/// What stood in files before.
const PRECIOUS: &str = "precious\n";

/// A folder with files of a user.
struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        let folder = Self(tempfile::tempdir().expect("a folder"));
        folder.write("k", PRECIOUS);
        folder
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path().join(name), text).expect("writable");
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path().join(name)).expect("a file")
    }

    fn names(&self) -> Vec<String> {
        let name = |entry: std::io::Result<fs::DirEntry>| {
            entry.expect("an entry").file_name().into_string().expect("text")
        };
        let mut names: Vec<_> = fs::read_dir(self.path()).expect("a folder").map(name).collect();
        names.sort();
        names
    }

    fn mode(&self, name: &str) -> u32 {
        fs::metadata(self.path().join(name)).expect("a file").mode() & 0o7777
    }

    fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(PIMLICO);
        command.args(arguments.split_whitespace()).current_dir(self.path());
        command
    }

    fn run(&self, arguments: &str) -> Output {
        self.command(arguments).output().expect("the command runs")
    }

    /// A line of a shell, in which `pimlico` is the command.
    fn shell(&self, line: &str) -> Output {
        let mut shell = Command::new("sh");
        shell.args(["-c", &line.replace("pimlico", PIMLICO)]).current_dir(self.path());
        shell.output().expect("a shell")
    }

    fn succeeds(&self, arguments: &str) -> String {
        let output = self.run(arguments);
        assert_eq!(output.status.code(), Some(0), "{arguments}: {}", said(&output));
        String::from_utf8(output.stdout).expect("text")
    }

    /// The line that a command gives that fails, and leaves all as it was.
    fn refused(&self, arguments: &str) -> String {
        let before = self.names();
        let output = self.run(arguments);
        let said = said(&output);
        assert_eq!(
            (output.status.code(), said.lines().count()),
            (Some(2), 1),
            "{arguments}: {said}"
        );
        assert_eq!(self.read("k"), PRECIOUS, "{arguments}");
        assert_eq!(self.names(), before, "{arguments}");
        assert!(!said.contains(".pimlico-") && !said.contains(".tmp"), "{said}");
        said
    }
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

const DPA: &str = "dpa build --op gemv --rows 8 --cols 8 --text -o";

#[test]
fn a_run_that_fails_leaves_what_was_there() {
    let folder = Folder::new();
    for arguments in [
        "run l3 attention --context 0",
        "run l3 decode --prompt \u{e9} --tokens 1",
        "run l3 gemv --rows 0 --cols 8",
        "run l3 attention --context 20 --program none.txt",
        "run aim attention --context 0",
    ] {
        folder.refused(&format!("{arguments} --vcd k"));
    }
    folder.refused("run l3 attention --context 20 --vcd k --plot nodir/x.svg");
    folder.write("p.txt", "nop\nnop\n");
    let output = folder.run("run l3 attention --context 20 --program p.txt --vcd k");
    assert_ne!(output.status.code(), Some(0));
    assert_eq!((folder.read("k").as_str(), folder.names().len()), (PRECIOUS, 2));
}

#[test]
fn an_output_that_cannot_be_written_is_told_before_the_work() {
    let folder = Folder::new();
    fs::create_dir(folder.path().join("d")).expect("writable");
    symlink("nowhere", folder.path().join("dangling")).expect("a link");
    symlink("round", folder.path().join("round")).expect("a link");
    for (name, expected) in [
        ("nodir/x", "nodir/x: No such file"),
        ("d", "d: not a regular file"),
        ("new/", "new/: expected the name of a file"),
        ("k/x", "k/x: Not a directory"),
        ("dangling", "dangling: a symbolic link to a file that is not there"),
        ("round", "round: "),
    ] {
        for command in [DPA, "spd write", "run l3 attention --context 20 --vcd"] {
            let said = folder.refused(&format!("{command} {name}"));
            assert!(said.starts_with(&format!("pimlico: {expected}")), "{said}");
        }
        // Some minutes, if it ran.
        let said = folder.refused(&format!("run l3 attention --context 1000000 --plot {name}"));
        assert!(said.starts_with(&format!("pimlico: {expected}")), "{said}");
    }
    // Where the user may write anything, as root may, there is nothing to refuse.
    fs::set_permissions(folder.path().join("d"), PermissionsExt::from_mode(0o555)).expect("own");
    if File::create(folder.path().join("d/x")).is_err() {
        assert!(folder.refused("spd write d/x").starts_with("pimlico: d/x: Permission denied"));
    }
}

#[test]
fn an_output_is_no_input_and_no_other_output() {
    let folder = Folder::new();
    folder.write("w.bin", PRECIOUS);
    folder.write("a.txt", "nop\n");
    fs::hard_link(folder.path().join("w.bin"), folder.path().join("hard")).expect("a link");
    symlink("w.bin", folder.path().join("soft")).expect("a link");
    let decode = "run l3 decode --tokens 1 --tokenizer w.bin --weights w.bin";
    for (arguments, expected) in [
        ("run l3 attention --context 20 --vcd s --plot s".to_owned(), "s: another output of the"),
        ("run l3 attention --context 20 --vcd s --plot ./s".to_owned(), "./s: another output"),
        ("run l3 attention --context 20 --vcd w.bin --plot hard".to_owned(), "hard: another"),
        (format!("{decode} --vcd w.bin"), "w.bin: an output of the same command"),
        (format!("{decode} --vcd soft"), "w.bin: an output of the same command"),
        (format!("{decode} --plot hard"), "w.bin: an output of the same command"),
        ("dpa assemble a.txt a.txt".to_owned(), "a.txt: an output of the same command"),
        ("run l3 attention --program a.txt --vcd a.txt".to_owned(), "a.txt: an output of the"),
    ] {
        let said = folder.refused(&arguments);
        assert!(said.contains(expected), "{arguments}: {said}");
    }
    assert_eq!((folder.read("w.bin").as_str(), folder.read("a.txt").as_str()), (PRECIOUS, "nop\n"));
    // What holds nothing may be several outputs.
    folder.succeeds("run l3 attention --context 20 --vcd /dev/null --plot /dev/null");
}

#[test]
fn mode_and_links_of_what_is_replaced_stay() {
    let folder = Folder::new();
    for (name, mode) in [("m", 0o600), ("g", 0o664), ("x", 0o640)] {
        folder.write(name, "");
        let file = folder.path().join(name);
        fs::set_permissions(&file, PermissionsExt::from_mode(mode)).expect("own");
    }
    symlink("x", folder.path().join("link")).expect("a link");
    folder.succeeds("spd write m");
    folder.succeeds("run l3 attention --context 20 --vcd g --plot link");
    assert_eq!(["m", "g", "x"].map(|name| folder.mode(name)), [0o600, 0o664, 0o640]);
    assert!(folder.path().join("link").is_symlink());
    assert!(folder.read("x").starts_with("<svg") && folder.read("g").contains("$enddefinitions"));
    // A new one has the mode that the umask leaves.
    assert!(folder.shell("umask 027; pimlico spd write n").status.success());
    assert_eq!(folder.mode("n"), 0o640);
    assert_eq!(folder.names(), ["g", "k", "link", "m", "n", "x"]);
}

#[test]
fn standard_output_is_written_and_not_replaced() {
    let folder = Folder::new();
    folder.succeeds(&format!("{DPA} text"));
    let text = folder.read("text");
    for name in ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"] {
        let output = folder.run(&format!("{DPA} {name}"));
        assert_eq!(String::from_utf8_lossy(&output.stdout), text, "{name}");
        assert!(said(&output).contains("words"), "the rest goes to standard error");
        folder.shell(&format!("(echo header; pimlico {DPA} {name}; echo footer) > so.txt"));
        assert_eq!(folder.read("so.txt"), format!("header\n{text}footer\n"), "{name}");
    }
    let image = folder.run("spd write -").stdout;
    assert_eq!(image.len(), 512);
    let words = folder.run("dpa assemble text /dev/stdout").stdout;
    assert!(!words.is_empty() && words.len().is_multiple_of(8));
    assert_eq!(folder.names(), ["k", "so.txt", "text"]);
    // Where the report goes there is no room for another document.
    for flag in ["--vcd -", "--plot /dev/stdout"] {
        let said = folder.refused(&format!("run l3 attention --context 20 {flag}"));
        assert!(said.contains("standard output has the report"), "{said}");
    }
    let output = folder.shell("pimlico spd write o > o");
    assert!(said(&output).contains("o: standard output goes there"), "{}", said(&output));
}

#[test]
fn fifos_and_devices_are_written_as_it_comes() {
    let folder = Folder::new();
    folder.succeeds("spd write image");
    let line =
        "mkfifo f; (cat f > got) & pimlico spd write f && wait && cmp got image && test -p f";
    let output = folder.shell(line);
    assert!(output.status.success(), "{}", said(&output));
    folder.succeeds("spd write /dev/null");
    assert!(!fs::metadata("/dev/null").expect("there").is_file());
    let line =
        "(cat f > got) & pimlico run l3 attention --context 20 --vcd f > r && wait && test -s got";
    assert!(folder.shell(line).status.success());
}

#[test]
fn a_full_disk_is_told_with_the_name_of_the_file() {
    let folder = Folder::new();
    for (arguments, name) in [
        (format!("{DPA} /dev/full"), "/dev/full"),
        ("run l3 attention --context 20 --vcd /dev/full".to_owned(), "/dev/full"),
        ("run aim attention --context 20 --vcd /dev/full".to_owned(), "/dev/full"),
        ("run l3 attention --context 20 --plot /dev/full".to_owned(), "/dev/full"),
        ("run l3 attention --context 20 --backend model --vcd /dev/full".to_owned(), "/dev/full"),
    ] {
        let said = folder.refused(&arguments);
        assert_eq!(said, format!("pimlico: {name}: No space left on device (os error 28)\n"));
    }
    // As if a disk were full behind a few kilobytes.
    for flag in ["--vcd", "--plot"] {
        let run = format!("pimlico run l3 attention --context 200 {flag} k");
        for line in [format!("ulimit -f 2; {run}"), format!("trap '' XFSZ; ulimit -f 2; {run}")] {
            let output = folder.shell(&line);
            assert_eq!(said(&output), "pimlico: k: File too large (os error 27)\n", "{line}");
            assert_eq!(output.status.code(), Some(2));
            assert_eq!((folder.read("k").as_str(), folder.names().len()), (PRECIOUS, 1));
        }
    }
}

#[test]
fn help_that_cannot_be_written_is_a_failure() {
    let folder = Folder::new();
    for arguments in
        ["--help", "--version", "run l3 attention --help", "schema", "man", "device list"]
    {
        let mut command = folder.command(arguments);
        let full = File::options().write(true).open("/dev/full").expect("a device");
        let output = command.stdout(full).output().expect("it runs");
        let expected = "pimlico: standard output: No space left on device (os error 28)\n";
        assert_eq!(
            (output.status.code(), said(&output).as_str()),
            (Some(2), expected),
            "{arguments}"
        );
    }
    // What could not be told is not put in place either.
    let output = folder.shell("pimlico run l3 attention --context 20 --vcd k > /dev/full");
    assert_eq!((output.status.code(), folder.read("k").as_str()), (Some(2), PRECIOUS));
    assert_eq!(folder.names(), ["k"]);
}

#[test]
fn pages_are_written_to_a_folder_all_or_none() {
    let folder = Folder::new();
    folder.succeeds("man --dir a/b");
    let pages = fs::read_dir(folder.path().join("a/b")).expect("made").count();
    assert!(pages > 10);
    folder.succeeds("man --dir a/b");
    assert_eq!(fs::read_dir(folder.path().join("a/b")).expect("made").count(), pages);
    assert!(folder.refused("man --dir k").starts_with("pimlico: k: "));
    fs::create_dir_all(folder.path().join("c/pimlico.1")).expect("writable");
    let said = folder.refused("man --dir c");
    assert!(said.contains("pimlico.1 is not a regular file"), "{said}");
    assert_eq!(fs::read_dir(folder.path().join("c")).expect("there").count(), 1);
}

/// Waits for something, which comes soon.
fn wait_for(what: impl Fn() -> bool) {
    let begun = Instant::now();
    while !what() {
        assert!(begun.elapsed() < Duration::from_secs(60), "it does not come");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Sends a signal; returns by which one the command ended.
fn signalled(child: &mut Child, signal: &str) -> Option<i32> {
    let id = child.id().to_string();
    assert!(Command::new("kill").args([signal, &id]).status().expect("kill").success());
    child.wait().expect("it ends").signal()
}

/// Whether whoever runs the tests ignores a signal, as `nohup` does: then the command does too.
fn is_ignored(signal: i32) -> bool {
    let status = fs::read_to_string("/proc/self/status").expect("it is Linux");
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).expect("a mask");
    u64::from_str_radix(mask.trim(), 16).expect("hexadecimal") >> (signal - 1) & 1 == 1
}

#[test]
fn a_signal_leaves_what_was_there() {
    let signals = [("-INT", 2), ("-TERM", 15), ("-HUP", 1)];
    for (signal, number) in signals.into_iter().filter(|(_, number)| !is_ignored(*number)) {
        let folder = Folder::new();
        let run = "run l3 attention --context 200000 --vcd k --plot new.svg";
        let mut command = folder.command(run);
        let mut child =
            command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it runs");
        wait_for(|| folder.names().len() == 3);
        assert_eq!(signalled(&mut child, signal), Some(number));
        assert_eq!((folder.read("k").as_str(), folder.names().len()), (PRECIOUS, 1));
    }
    // Who starts it may want it to go on.
    let folder = Folder::new();
    let line = "trap '' HUP; pimlico run l3 attention --context 3000 --vcd k & sleep 0.1; kill -HUP $!; wait $!";
    assert!(folder.shell(line).status.success());
    assert_ne!(folder.read("k"), PRECIOUS);
}

/// A Python with a Yosys that makes files, has a process of its own, and does not end.
const YOSYS: &str = "#!/bin/sh
case \"$2\" in *importlib*) echo 0.70; exit;; esac
mkdir $TMPDIR/yosys-abc-1
sleep 1000 &
echo $! > $PIDS.new; mv $PIDS.new $PIDS
wait
";

#[test]
fn an_estimate_that_is_interrupted_leaves_nothing() {
    let (folder, scratch) = (Folder::new(), Folder::new());
    for (name, script) in [("python", YOSYS), ("sta", "#!/bin/sh\nexit 0\n")] {
        folder.write(name, script);
        let file = folder.path().join(name);
        fs::set_permissions(file, PermissionsExt::from_mode(0o755)).expect("own");
    }
    // With a name that wants a copy for the tools.
    folder.write("my cells.lib", pimlico_estimate::NANGATE45_AREAS);
    let path = std::env::var("PATH").expect("a path");
    let mut command = folder.command("estimate area fp_max --no-cache --python ./python --plot k");
    command.arg("--liberty").arg("my cells.lib").stdout(Stdio::null()).stderr(Stdio::null());
    command.env("PATH", format!("{}:{path}", folder.path().display()));
    command.env("TMPDIR", scratch.path()).env("PIDS", folder.path().join("pids"));
    let mut child = command.spawn().expect("it runs");
    wait_for(|| folder.path().join("pids").exists());
    assert!(scratch.names().len() == 2, "one folder, beside what was there");
    let signals = [("-INT", 2), ("-TERM", 15)];
    let (signal, number) =
        signals.into_iter().find(|(_, number)| !is_ignored(*number)).expect("one");
    assert_eq!(signalled(&mut child, signal), Some(number));
    assert_eq!((scratch.names(), folder.read("k").as_str()), (vec!["k".to_owned()], PRECIOUS));
    assert_eq!(folder.names(), ["k", "my cells.lib", "pids", "python", "sta"]);
    let pid = folder.read("pids");
    let process = format!("/proc/{}/stat", pid.trim());
    let has_ended = || fs::read_to_string(&process).map_or(true, |stat| stat.contains(") Z "));
    wait_for(has_ended);
}
