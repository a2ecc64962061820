import AccessoryCore
import Glibc
import TestSupport
import Testing

/// Tests completion in bash, with real keys. Names are untrusted. The shell must not run or expand a name, and an
/// inserted word must refer to exactly the selected item.
@Suite(.waits) struct TabCompletionTests {
  let shell = TypedShell()

  @Test func whatTheTableKnowsIsOffered() throws {
    #expect(try shell.offers("easim ").contains("send"))
    #expect(try shell.offers("easim wat") == ["watch"])
    #expect(try shell.offers("easim send --exp") == ["--expect"])
    #expect(try shell.offers("easim send --expect ") == ["echo", "none"])
    #expect(try shell.offers("easim info --layout ") == ["A", "B", "C"])
    #expect(try shell.offers("easim run lawk") == ["lawk-view"])
    #expect(try shell.offers("easim profile show lawk") == ["lawk-view"])
    #expect(try shell.offers("easim profile sh") == ["show"])
    #expect(try shell.offers("easim list --jso") == ["--json"])
    #expect(try shell.offers("easim send --text ") == [])
    #expect(try shell.run("easim wat\tloc\t") == [["watch", "local:"]])
  }

  @Test func whatIsInTheLocalDirectoryIsOfferedBehindTheColon() throws {
    let local = LocalPlace()
    let run = try local.plugIn("echo", "--count", "2", count: 2)
    shell.environment["EASIM_LOCAL"] = local.path
    #expect(try shell.offers("easim send local:E") == ["EW1-0001-1", "EW1-0001-2"])
    #expect(try shell.offers("easim info loc") == ["local:", "local:EW1-0001-1", "local:EW1-0001-2"])
    #expect(try shell.run("easim send local:\tE\t2") == [["send", "local:EW1-0001-2"]])
    // If bash does not split words at colons, it must be offered the whole word.
    shell.settings = "COMP_WORDBREAKS=${COMP_WORDBREAKS//:}"
    #expect(try shell.offers("easim send local:E") == ["local:EW1-0001-1", "local:EW1-0001-2"])
    #expect(try shell.run("easim send local:E\t1") == [["send", "local:EW1-0001-1"]])
    #expect(try run.interrupt().ending == .exit(0))
  }

  // MARK: Names with a special meaning in a shell

  /// Names that are dangerous in a shell. The commands in the names refer to files without a path, because a file name
  /// cannot contain '/'.
  static let hostile = [
    "$(touch${IFS}pwned)", "$(touch pwned)", "`touch pwned`", "${a[$(touch pwned)]}", "$((a[$(touch pwned)]))", "a b",
    "it's", "say \"hi\"", "'\"'$(touch pwned)", "two\nlines", "two\n$(touch pwned)\n", "tab\there", "esc\u{1B}[31m",
    "*",
    "[a-z]*", "?", "{a,b}", "~", "~root", "!!", "a!b", "!$(touch pwned)", "$HOME", "$'x'", "#c", "a;touch pwned",
    "a&touch pwned", "a|touch pwned", "a>pwned", "<(touch pwned)", "\\", "a\\b", "\\$(touch pwned)", "(x)", "%1", "=x",
    "^a^b", " b", "a ", "&", "a:b:c", "a:$(touch pwned)", "a=b", "a@b", "李未可", "\u{202E}x", "--on=x", "-",
  ]

  /// Every kind of quotation mark that a user may have opened.
  static let quotes = ["", "'", "\""]

  @Test(arguments: quotes) func aProfileOfAnyNameIsMeantAndNotRun(quote: String) throws {
    let names = Self.hostile.enumerated().map { "z\($0)-\($1)" }
    for name in names { shell.addProfile(name) }
    let lines = names.indices.map { "easim run \(quote)z\($0)-\t" }
    try expect(shell.run(lines), names.map { ["run", $0] })
    #expect(shell.names == [])
  }

  @Test(arguments: quotes) func aFileOfAnyNameIsMeantAndNotRun(quote: String) throws {
    let names = Self.hostile.enumerated().map { "z\($0)-\($1)" }
    for name in names { shell.put(name) }
    let lines = names.indices.map { "easim decode \(quote)z\($0)-\t" }
    try expect(shell.run(lines), names.map { ["decode", $0] })
    #expect(shell.names == names.sorted())
  }

  @Test(arguments: quotes) func aFolderOfAnyNameIsGoneThrough(quote: String) throws {
    let names = Self.hostile.enumerated().map { "z\($0)-\($1)" }
    for name in names {
      shell.place.makeFolder("here/\(name)")
      shell.put("\(name)/it's in")
    }
    let lines = names.indices.map { "easim decode \(quote)z\($0)-\tit\t" }
    try expect(shell.run(lines), names.map { ["decode", "\($0)/it's in"] })
    #expect(shell.names == names.sorted())
  }

  /// A serial number is untrusted, because the accessory chooses it.
  @Test(arguments: quotes) func aSerialNumberOfAnyKindIsMeantAndNotRun(quote: String) throws {
    let serials = Self.hostile.enumerated().map { "z\($0)-\($1)" }
    try expectSerials(serials, typing: serials.indices.map { "\(quote)local:z\($0)-" })
  }

  /// These characters have their own test: '/' cannot occur in a file name, and both '/' and '#' are escaped in an
  /// address.
  @Test func aSerialNumberWithASlashOrAHashIsMeantAndNotRun() throws {
    let serials = ["x$(touch${IFS}\(shell.place.file("here"))/pwned)", "y#$(touch pwned)"]
    try expectSerials(serials, typing: ["local:x", "local:y"])
  }

  @Test func aNameThatBeginsWithSomethingSpecialIsMeantAsWell() throws {
    let names = Self.hostile.filter { !$0.hasPrefix("-") }
    for (number, name) in names.enumerated() {
      shell.place.makeFolder("here/\(number)")
      shell.put("\(number)/\(name)")
    }
    let lines = names.indices.flatMap { ["cd \(shell.place.file("here"))/\($0)", "easim decode \t"] }
    try expect(shell.run(lines), names.map { ["decode", $0] })
    for (number, name) in names.enumerated() { #expect(shell.place.names("here/\(number)") == [name]) }
  }

  @Test func noNameIsTakenForAnOption() throws {
    for name in ["--on=unix:evil", "-x"] { shell.addProfile(name) }
    #expect(try !shell.offers("easim run ").contains { $0.hasPrefix("-") })
    #expect(try !shell.offers("easim run -").contains { $0.contains("evil") || $0 == "-x" })
    // Words after `--` are not completed as options.
    #expect(try shell.run("easim run -- -x\t") == [["run", "--", "-x"]])
    #expect(try shell.run("easim run -- --o\t") == [["run", "--", "--on=unix:evil"]])
    shell.put("--json")
    #expect(try shell.run("easim decode \t") == [["decode", "./--json"]])
    #expect(try shell.run("easim send --transcript \t") == [["send", "--transcript", "./--json"]])
  }

  @Test func whatSeveralNamesHaveInCommonIsInsertedAndCanBeTypedOn() throws {
    for name in ["a $(touch pwned)", "a b", "a'c", "a'd"] { shell.put(name) }
    #expect(try shell.run("easim decode a\t $\t") == [["decode", "a $(touch pwned)"]])
    #expect(try shell.run("easim decode a\t b\t") == [["decode", "a b"]])
    #expect(try shell.run("easim decode a\\'\tc\t") == [["decode", "a'c"]])
    #expect(try shell.run("easim decode \"a'\td\"") == [["decode", "a'd"]])
    // Cycling through the names with the Tab key inserts each name in full.
    shell.settings = "bind 'TAB:menu-complete'"
    #expect(try shell.run("easim decode a\t") == [["decode", "a $(touch pwned)"]])
    #expect(try shell.run("easim decode a\t\t") == [["decode", "a b"]])
    #expect(shell.names.count == 4)
  }

  @Test func aWordWithAnExpansionOfTheUsersOwnIsLeftToBash() throws {
    shell.place.makeFolder("here/sub")
    shell.put("sub/file")
    shell.environment["HOME"] = shell.place.file("here/sub")
    #expect(try shell.run("easim decode ~/f\t") == [["decode", shell.place.file("here/sub/file")]])
    #expect(try shell.run("easim decode \"$HOME\"/f\t") == [["decode", shell.place.file("here/sub/file")]])
    #expect(try shell.run("easim run $(touch pwned) z\t") == [["run", "z"]], "what the user runs is the user's")
  }

  /// easim itself quotes the commands that it prints for pasting.
  @Test(arguments: Self.hostile) func aWordThatIsPrintedForAShellMeansItself(name: String) throws {
    let bash = try Program(path: "/bin/bash", ["-c", "printf %s \(name.shellWord)"]).wait()
    #expect(bash.ending == .exit(0) && bash.out == name, "\(bash.err)")
  }

  @Test func anAddressIsPrintedSoThatItCanBePasted() throws {
    let local = LocalPlace()
    let file = local.place.write(
      "{ version: 1, extends: 'echo', accessory: { serialNumber: '$(touch pwned)\\n' } }", to: "p.json5")
    let run = try Program(["run", file], environment: ["EASIM_LOCAL": local.path])
    let line = try run.line("plugged in at ")
    #expect(line.contains(#"plugged in at $'local:$(touch pwned)\n', offering"#), "\(line)")
    #expect(try local.run("list").out.hasPrefix(#"$'local:$(touch pwned)\n'  "#))
    #expect(try run.interrupt().ending == .exit(0))
  }

  /// Settings that users may have in their shell's start-up files.
  @Test(arguments: [
    "set -u", "set -f", "set -o noglob; shopt -s failglob", "shopt -s nullglob dotglob extglob globstar",
    "shopt -s nocasematch nocaseglob", "IFS=t", "IFS=", "GLOBIGNORE='*'", "LC_ALL=C", "set -o vi",
    "COMP_WORDBREAKS=' '", "shopt -u patsub_replacement", "shopt -s direxpand", "bind 'set show-all-if-ambiguous on'",
  ]) func theSettingsOfAShellChangeNothing(settings: String) throws {
    let name = "z$(touch pwned) 李&*"
    shell.addProfile(name)
    shell.put("f\(name)")
    shell.settings = settings
    for quote in Self.quotes {
      #expect(try shell.run("easim run \(quote)z\t") == [["run", name]])
      #expect(try shell.run("easim decode \(quote)f\t") == [["decode", "f\(name)"]])
    }
    #expect(try shell.offers("easim wat") == ["watch"])
    #expect(shell.names == ["f\(name)"])
  }

  /// Plugs in accessories with these serial numbers, and completes one of `words` for each.
  private func expectSerials(_ serials: [String], typing words: [String]) throws {
    let local = LocalPlace()
    let files = serials.enumerated().map { number, serial in
      local.place.write(
        "{ version: 1, extends: 'echo', accessory: { serialNumber: \(Self.literal(serial)) } }", to: "p\(number).json5")
    }
    let run = try Program(["run"] + files, environment: ["EASIM_LOCAL": local.path])
    for _ in serials { try run.line("plugged in at ") }
    shell.environment["EASIM_LOCAL"] = local.path
    try expect(
      shell.run(words.map { "easim send \($0)\t" }),
      serials.map { ["send", "\(Address.local(directory: nil, serial: $0))"] })
    #expect(shell.names == [])
    #expect(try run.interrupt().ending == .exit(0))
  }

  /// Compares words one by one, so that a failure shows which of many names is wrong.
  private func expect(
    _ found: [[String]], _ wanted: [[String]], at place: SourceLocation = #_sourceLocation
  ) {
    #expect(found.count == wanted.count, sourceLocation: place)
    for (found, wanted) in zip(found, wanted) { #expect(found == wanted, sourceLocation: place) }
  }

  static func literal(_ text: String) -> String {
    let characters = text.utf16.map { unit in
      let digits = String(unit, radix: 16)
      return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
    }
    return "\"\(characters.joined())\""
  }
}
