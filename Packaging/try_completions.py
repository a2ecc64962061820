#!/usr/bin/env python3
"""Try the completions for zsh and fish with real keys, in those shells.

    Packaging/try_completions.py EASIM [zsh] [fish]

Names of profiles and files are untrusted: none may be run or expanded, and an inserted word must name exactly what was
selected. `Tests/EasimTests/TabCompletionTests.swift` does the same with bash. Exit code 1 when something is wrong.
"""
import os
import pathlib
import pty
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIMIT = 60  # Seconds; only a hang takes as long.

HOSTILE = [
    "$(touch${IFS}pwned)", "$(touch pwned)", "`touch pwned`", "${a[$(touch pwned)]}", "(touch pwned)", "a b", "it's",
    "say \"hi\"", "'\"'$(touch pwned)", "two\nlines", "two\n$(touch pwned)\n", "esc\x1b[31m", "*", "[a-z]*", "?", "{a,b}",
    "~", "~root", "!!", "a!b", "$HOME", "$'x'", "#c", "a;touch pwned", "a&touch pwned", "a|touch pwned", "a>pwned",
    "<(touch pwned)", "=(touch pwned)", "\\", "a\\b", "\\$(touch pwned)", "(x)", "%1", "=ls", "^a^b", " b", "a ", "&",
    "a:b:c", "a:$(touch pwned)", "a=b", "a@b", "李未可", "\u202ex", "--on=x", "-", "(e:'touch pwned':)", "*(e:'touch pwned':)",
]
TAB = "tab\there"  # fish has a description behind a tab, so it leaves such a name out


class Shell:
    """An interactive shell in a folder of its own, whose `easim` notes the words it gets."""

    def __init__(self, kind, program):
        self.kind, self.program = kind, program
        self.place = pathlib.Path(tempfile.mkdtemp(prefix="easim-keys-"))
        self.here, self.notes = self.place / "here", self.place / "notes"
        self.here.mkdir()
        self.profiles = self.place / "config/easim/profiles"
        self.profiles.mkdir(parents=True)
        (self.place / "home").mkdir()
        self.notes.write_bytes(b"")
        self.output = b""

    def environment(self):
        return {
            "PATH": f"{ROOT}/Tests/Support/TypedShell:{os.environ['PATH']}", "EASIM": self.program, "NOTES": str(self.notes),
            "XDG_CONFIG_HOME": str(self.place / "config"), "XDG_DATA_HOME": str(self.place / "data"),
            "XDG_CACHE_HOME": str(self.place / "cache"), "HOME": str(self.place / "home"), "TERM": "xterm",
            "LC_ALL": "C.UTF-8", "EASIM_LOCAL": str(self.place / "local"), "fish_greeting": "",
        }

    def start(self):
        script = self.place / "script"
        script.write_bytes(subprocess.run([self.program, "completion", self.kind], check=True, stdout=subprocess.PIPE).stdout)
        if self.kind == "zsh":
            # -u: other users' folders in $fpath are the machine's business.
            self.command = ["zsh", "-f", "-i"]
            first = f"PS1=; unsetopt beep; autoload -Uz compinit && compinit -u -D && source {script}; easim ready"
        else:
            self.command = ["fish", "--no-config", "--interactive"]
            first = f"function fish_prompt; end; source {script}; easim ready"
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.chdir(self.here)
            os.execvpe(self.command[0], self.command, self.environment())
        self.seen = 0
        words = self.type(first + "\r")
        assert words == ["ready"], (words, self.output[-2000:])

    def records(self):
        """The words of each easim that ran: a count and that many words, each with a zero byte behind it."""
        parts = self.notes.read_bytes().split(b"\0")[:-1]
        found = []
        while parts:
            count = int(parts[0])
            if len(parts) <= count:
                break
            found.append([part.decode(errors="surrogateescape") for part in parts[1:count + 1]])
            parts = parts[count + 1:]
        return found

    def type(self, keys):
        """Type a line, and return the words of the easim that it ran."""
        rest, end = keys.encode(), time.monotonic() + LIMIT
        while time.monotonic() < end:
            ready, writable, _ = select.select([self.terminal], [self.terminal] if rest else [], [], 0.02)
            if ready:
                try:
                    self.output = (self.output + os.read(self.terminal, 65536))[-100_000:]
                except OSError:
                    break
            if writable:
                # In small pieces: the terminal's own buffer is small while the shell starts.
                rest = rest[os.write(self.terminal, rest[:64]):]
            found = self.records()
            if len(found) > self.seen:
                self.seen += 1
                return found[self.seen - 1]
        raise AssertionError(f"{self.kind}: nothing ran after {keys!r}:\n{self.output[-2000:].decode(errors='replace')}")

    def close(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.terminal)
        shutil.rmtree(self.place)


def check(kind, program):
    shell, findings, tried = Shell(kind, program), [], 0
    names = [f"z{number}-{name}" for number, name in enumerate(HOSTILE + ([TAB] if kind == "zsh" else []))]
    special = [f"x{number}-{name}" for number, name in enumerate(HOSTILE)]
    for name in names:
        (shell.profiles / f"{name}.json5").write_text("{ version: 1, extends: 'echo' }")
    for name in special:
        (shell.here / name).write_text("")
    (shell.here / "--json").write_text("")
    (shell.here / "folder $(touch pwned)").mkdir()
    (shell.here / "folder $(touch pwned)" / "it's in").write_text("")
    shell.start()
    before = sorted(path.name for path in shell.here.iterdir())

    def expect(keys, wanted):
        nonlocal tried
        tried += 1
        found = shell.type(keys)
        if found != wanted:
            findings.append(f"{kind}: {keys!r} ran easim with {found}, expected {wanted}")

    # What the table knows.
    expect("easim wat\t\r", ["watch"])
    expect("easim send --exp\tec\t\r", ["send", "--expect", "echo"])
    expect("easim run lawk\t\r", ["run", "lawk-view"])
    expect("easim profile sh\tlawk\t\r", ["profile", "show", "lawk-view"])
    expect("easim list --jso\t\r", ["list", "--json"])
    expect("easim send loc\t\r", ["send", "local:"])
    expect("easim report sho\t\r", ["report", "show"])
    expect("easim decode fol\tit\t\r", ["decode", "folder $(touch pwned)/it's in"])
    expect("easim decode ./--j\t\r", ["decode", "./--json"])
    # Names that a shell would make something of, in each of the quotes that a user may have opened.
    for quote in ["", "'", '"']:
        for command, letter, some in [("run", "z", names), ("decode", "x", special)]:
            for number, name in enumerate(some):
                # Behind these fish leaves a word open, but not the name of a file.
                end = quote if kind == "fish" and command == "run" and name[-1] in "/=@:.,-_" else ""
                expect(f"easim {command} {quote}{letter}{number}-\t{end}\r", [command, name])
    after = sorted(path.name for path in shell.here.iterdir())
    if after != before:
        findings.append(f"{kind}: a name was run: {set(after) ^ set(before)}")
    shell.close()
    for finding in findings:
        print(finding)
    print(f"{kind}: {tried} lines typed, {len(findings)} findings")
    return not findings


def main():
    program, kinds = os.path.abspath(sys.argv[1]), sys.argv[2:] or ["zsh", "fish"]
    for kind in kinds:
        if shutil.which(kind) is None:
            sys.exit(f"Packaging/try_completions.py: {kind} is not installed: apt-get install {kind}")
    # All kinds are tried, also behind one that fails.
    sys.exit(0 if all([check(kind, program) for kind in kinds]) else 1)


main()
