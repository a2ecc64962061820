import Glibc
import TestSupport
import Testing

/// Tests the `--help` of every command, and every command line that easim prints for users to copy.
@Suite(.waits) struct HelpTests {
  static func commands() throws -> [String] {
    let lines = try Program.run("--help").outLines
    let start = try #require(lines.firstIndex { $0.hasPrefix("usage: ") })
    return lines[(start + 1)...].filter { $0.hasPrefix("  ") }.compactMap { $0.split(separator: " ").first }
      .map(String.init)
  }

  static func examples(_ command: String) throws -> [String] {
    let lines = try Program.run(command, "--help").outLines
    let start = try #require(lines.firstIndex(of: "example:"), "'easim \(command) --help' shows no example")
    return lines[(start + 1)...].map { String($0.drop { $0 == " " }) }
  }

  /// Runs a line in a shell, in `place`, with the `easim` under test first in the PATH.
  ///
  /// The local directory, and files that the line would put in /tmp, are also in `place`. The system chooses the
  /// servers' ports. Two test runs on the same machine therefore do not interfere with each other.
  static func shell(_ line: String, in place: TemporaryFolder) throws -> Program {
    let path = getenv("PATH").map { String(cString: $0) } ?? "/usr/bin:/bin"
    let line =
      "cd '\(place.path)' && "
      + line.replacing("/tmp/", with: "\(place.path)/").replacing("127.0.0.1:7000", with: "127.0.0.1:0")
    return try Program(
      path: "/bin/sh", ["-c", line],
      environment: [
        "PATH": "\(BuiltProducts.folder):\(path)", "EASIM_LOCAL": place.file("local"),
        "DBUS_SYSTEM_BUS_ADDRESS": "unix:path=\(place.file("bus"))",
      ])
  }

  @Test func theVersionIsTheChangelogsNewest() throws {
    let changelog = try Repository.text("CHANGELOG.md")
    let newest = try #require(changelog.split(separator: "\n").first { $0.hasPrefix("## ") }?.split(separator: " ")[1])
    let shown = try Program.run("--version")
    #expect(shown.ending == .exit(0))
    #expect(shown.out.hasPrefix("easim \(newest) ("))
    // Only release builds contain the commit and the date.
    let origin =
      /easim [0-9.]+ \((?:commit [0-9a-f]+(?:-changed)?, [0-9]{4}-[0-9]{2}-[0-9]{2}|commit and date unknown)\)\n/
    #expect(shown.out.wholeMatch(of: origin) != nil, "\(shown.out)")
  }

  @Test func everyCommandExplainsItself() throws {
    for command in try Self.commands() {
      let long = try Program.run(command, "--help")
      #expect(long.ending == .exit(0) && long.err == "")
      #expect(try Program.run(command, "-h").out == long.out)
      #expect(long.outLines.allSatisfy { $0.count <= 120 })
    }
  }

  @Test func everyCommandHasAManualPageWithItsOptions() throws {
    let overview = try Program.run("man").out
    for command in try Self.commands() {
      #expect(overview.contains("\n.BR easim\\-\(command) (1)\n"))
      let page = try Program.run("man", command)
      #expect(page.ending == .exit(0))
      #expect(page.outLines.first?.hasPrefix(".TH EASIM\\-\(command.uppercased()) 1 ") == true)
      let help = try Program.run(command, "--help").out
      for option in help.matches(of: /(?m)^  (?:-[a-z], )?--([a-z0-9-]+)/) {
        let name = option.1.replacing("-", with: "\\-")
        #expect(page.out.contains("\\fB\\-\\-\(name)\\fR"), "easim-\(command)(1) does not list --\(option.1)")
      }
    }
  }

  /// The examples whose exit code is not 0, with their exit codes.
  static let otherEndings: [String: Int32] = [
    // The naive client makes a mistake, so the scenario fails.
    "easim scenario run transport-switch --client naive": 1,
    // These worlds break a rule that is stricter than the built-in rules.
    "easim soak --seeds 100 --forbid giveUp --save /tmp/given-up": 1,
    // No server listens on USB/IP's port while the tests run.
    "easim plug usbip:127.0.0.1:3240 --timeout 1s": 3,
    // No accessory is plugged in over USB.
    "easim list usb:": 3,
    // The tests have no D-Bus, so nothing is paired, even if this machine has Bluetooth.
    "easim pair": 3,
    "easim replay golden.pcapng --at usb: --timeout 1s --report difference.html": 3,
    // The test stops the command before any app connects.
    "easim replay golden.pcapng --on unix:/tmp/recorded.sock": 1,
    // Depending on the environment, either no server is configured or the configured server is not running.
    "easim ctl accessory.add profile=lawk-view quirks=flicker": 2,
    "easim ctl accessory.plug accessory=a1": 2,
    "easim ctl --control /tmp/easim.sock accessory.list": 3,
    // No process has this ID, so there are no cables to capture.
    "easim extcap --capture --extcap-interface easim-4711-1 --fifo /tmp/lawk.pcapng": 3,
    "easim pair bt:00:AA:01:00:00:42 --yes": 3,
    "easim pair bt:hci1#00:AA:01:00:00:42 --pin 0000": 3,
    "easim unpair bt:00:AA:01:00:00:42": 3,
  ]

  /// For each example that runs until Ctrl-C, a part of the line that it prints when it is working.
  static let lasting = [
    "easim watch": "plugged in", "easim replay golden.pcapng --on unix:/tmp/recorded.sock": "plugged in",
    "easim pipe usb: --listen unix:/tmp/session.sock": "unix:",
    "easim pipe --as-accessory echo --on unix:/tmp/lamp.sock --listen unix:/tmp/lamp-session.sock": "unix:",
    "easim proxy --device unix:/tmp/proxy.sock --accessory unix:/tmp/glasses.sock --capture proxy.pcapng": "waiting",
    "easim proxy --device pty:/tmp/tty --accessory serial:/dev/ttyUSB0,115200 --fault loss,chance=2%,direction=in":
      "waiting",
    "easim proxy --device local: --accessory usb: --json": "waiting",
    "easim serve": "http://", "easim serve --control /tmp/easim.sock": "http://",
    "easim serve --remote 127.0.0.1:7000": "EASIM_REMOTE=127.0.0.1:",
  ]

  @Test func everyExampleWorksAsPrintedWhileThoseOfRunAreRunning() throws {
    let place = TemporaryFolder()
    _ = mkdir(place.file("Sources"), 0o700)
    _ = mkdir(place.file("Sources/App"), 0o700)
    place.write("import ExternalAccessory", to: "Client.swift")
    place.write("import ExternalAccessory", to: "Sources/App/Client.swift")
    place.write([0xFF, 0x55, 0x02, 0x00, 0xEE, 0x10], to: "capture.bin")
    #expect(try Self.shell("easim demo --capture capture.pcapng", in: place).wait().ending == .exit(0))
    for name in ["golden", "first", "second"] {
      place.write(place.bytes("capture.pcapng") ?? [], to: "\(name).pcapng")
    }
    let runs = try Self.examples("run").map { try Self.shell("exec \($0)", in: place) }
    for run in runs { try run.line("plugged in") }
    for command in try Self.commands() where command != "run" {
      for example in try Self.examples(command) {
        #expect(example.hasPrefix("easim \(command)") || example.contains("| easim \(command)"))
        let line = try Self.shell(Self.lasting[example] == nil ? example : "exec \(example)", in: place)
        if let sign = Self.lasting[example] {
          try line.line(sign)
          line.send(SIGINT)
        }
        let end = try line.wait()
        #expect(end.ending == .exit(Self.otherEndings[example] ?? 0), "\(example)\n\(end.out)\(end.err)")
      }
    }
    for run in runs {
      #expect(try run.interrupt().ending == .exit(0))
    }
  }
}
