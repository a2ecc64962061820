import Glibc
import TestSupport
import Testing

/// Tests those parts of the repository's scripts that work without a build.
@Suite(.waits) struct ScriptTests {
  func run(_ script: String, _ words: String...) throws -> Program.Remains {
    try Program(path: "\(Repository.root)/\(script)", words).wait()
  }

  @Test func aKernelLaneWithoutTestsDoesNotPretend() throws {
    let lane = try run("Scripts/kernel/lane", "/bin/true", "no-such-test")
    #expect(lane.ending == .exit(2))
    #expect(lane.err.contains("no test of the kernel lane has 'no-such-test' in its name"))
    #expect(lane.out == "")
  }

  /// A misspelled lane is reported before any lane runs, rather than an hour later.
  @Test func aLaneThatIsUnknownIsNamedBeforeAnyRuns() throws {
    let ci = try run(".ci/run", "lint", "lnt")
    #expect(ci.ending == .exit(2) && ci.out == "")
    #expect(ci.err.hasPrefix(".ci/run: there is no lane lnt; the lanes are: tests page "), "\(ci.err)")
  }

  @Test(.enabled(if: access("/usr/bin/python3", X_OK) == 0, "the guest's script needs python3"))
  func aMachineWithoutQEMUSaysWhatToInstall() throws {
    let place = TemporaryFolder()
    let guest = try Program(
      path: "/usr/bin/python3", ["\(Repository.root)/Scripts/kernel/guest", "script"],
      environment: ["PATH": place.path]
    ).wait()
    #expect(guest.ending == .exit(2))
    #expect(guest.err.contains("apt-get install qemu-system-x86"), "\(guest.err)")
  }

  @Test(arguments: [
    ("Scripts/test", "--kernal"), ("Scripts/test", "ScriptTests"), ("Scripts/install", "--perfix"),
    ("Scripts/lint", "--strict"),
  ]) func anUnknownOptionIsWrongUsage(script: String, word: String) throws {
    let remains = try run(script, word)
    #expect(remains.ending == .exit(2))
    #expect(remains.err.contains("\(script): "))
  }

  @Test func anInstallationNeedsToBeToldWhereTo() throws {
    let install = try run("Scripts/install")
    #expect(install.ending == .exit(2))
    #expect(install.err.contains("usage: Scripts/install --prefix DIR"))
    #expect(try run("Scripts/install", "--prefix").ending == .exit(2))
  }

  @Test(arguments: ["Scripts/test", "Scripts/install"]) func helpIsOnStdout(script: String) throws {
    let help = try run(script, "--help")
    #expect(help.ending == .exit(0))
    #expect(help.out.hasPrefix("usage: \(script)"))
  }
}

/// Tests the script that prepares a machine for building easim. The machines are simulated, and have only a few fake
/// programs.
@Suite(.waits) struct SetUpTests {
  let place = TemporaryFolder()

  /// Runs the set-up script on a machine that has only the programs that bash needs and the given `programs`. Each of
  /// `programs` is a line of shell code.
  ///
  /// The programs are shell functions rather than files: if another test is just starting a program, running a newly
  /// written file fails with "text file busy".
  func setUp(_ programs: [String: String]) throws -> Program.Remains {
    for name in ["basename", "dirname", "sed", "head", "sort"] { place.link(name, to: "/usr/bin/\(name)") }
    let all = programs.merging(["env": "while [[ $1 == *=* ]]; do shift; done; \"$@\""]) { $1 }
    let functions = all.map { "\($0.key)() { \($0.value); }" }.sorted().joined(separator: "\n")
    let script = """
      set -euo pipefail
      \(functions)
      source '\(Repository.root)/Scripts/lib.sh'
      require_swift
      require_packages
      echo ready
      """
    return try Program(path: "/bin/bash", ["-c", script, "demo"], environment: ["PATH": place.path]).wait()
  }

  static let swift = ["swift": "echo 'Swift version 6.3.1 (swift-6.3.1-RELEASE)'"]
  /// A fake `sudo`, which unprivileged users need.
  static let sudo = ["sudo": "\"$@\""]
  static let apt = ["apt-get": "echo \"apt-get $*\""]
  static let headers = "libssl-dev libusb-1.0-0-dev libudev-dev libsystemd-dev libmicrohttpd-dev"

  func setUp(_ programs: [String: String]...) throws -> Program.Remains {
    try setUp(programs.reduce(into: [:]) { all, more in all.merge(more) { $1 } })
  }

  @Test func aMachineThatHasEverythingIsLeftAlone() throws {
    let end = try setUp(Self.swift, ["pkg-config": "return 0", "apt-get": "exit 99"])
    #expect(end.ending == .exit(0))
    #expect(end.out == "ready\n")
    #expect(end.err == "")
  }

  @Test(arguments: [
    ([:], "there is no 'swift' on the PATH"),
    (["swift": "echo 'Swift version 6.1.2 (swift-6.1.2-RELEASE)'"], "Swift 6.1.2 is too old: easim needs 6.3"),
    (["swift": "echo 'swift 2.0, a file manager'"], "is swift a Swift compiler?"),
  ]) func aMachineWithoutAFittingSwiftIsToldWhatIsNeeded(programs: [String: String], complaint: String) throws {
    let end = try setUp(programs)
    #expect(end.ending == .exit(2))
    #expect(end.err.contains(complaint), "\(end.err)")
  }

  @Test(arguments: ["6.3", "6.3.1", "6.10", "7.0"]) func anySwiftFromTheNeededOneOnWillDo(version: String) throws {
    let end = try setUp(["swift": "echo 'Apple Swift version \(version) (swift)'", "pkg-config": "return 0"])
    #expect(end.ending == .exit(0), "\(end.err)")
  }

  @Test func whatIsMissingIsNamedAndInstalled() throws {
    let end = try setUp(Self.swift, Self.sudo, Self.apt)
    #expect(end.ending == .exit(0), "\(end.err)")
    #expect(end.out == "ready\n")
    #expect(end.err.contains("installing what is missing: pkg-config \(Self.headers)"))
    #expect(end.err.contains("apt-get update"))
    #expect(end.err.contains("apt-get install -y -q --no-install-recommends pkg-config \(Self.headers)"))
  }

  @Test func onlyTheHeadersAreInstalledWherePkgConfigIsThere() throws {
    let end = try setUp(Self.swift, Self.sudo, Self.apt, ["pkg-config": "return 1"])
    #expect(end.err.contains("installing what is missing: \(Self.headers)\n"), "\(end.err)")
  }

  @Test func aFailedInstallationEndsThere() throws {
    let end = try setUp(Self.swift, Self.sudo, ["apt-get": "return 100"])
    #expect(end.ending == .exit(2))
    #expect(end.err.contains("'apt-get update' failed"))
    #expect(end.out == "")
  }

  @Test func aMachineWithoutAptIsToldWhatToInstall() throws {
    let end = try setUp(Self.swift)
    #expect(end.ending == .exit(2))
    #expect(end.err.contains("missing: pkg-config \(Self.headers)"))
  }
}
