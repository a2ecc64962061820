import AccessoryCables
import AccessoryFormats
import Glibc
import LinuxIO

extension CommandSpec {
  static let extcap = CommandSpec(
    name: "extcap", summary: "let Wireshark list and record the cables of running easim programs",
    details: """
      Let Wireshark record the cables of running easim programs. Wireshark calls this command through its interface for
      capture programs ("extcap"), for which 'Scripts/install' installs the program easim-extcap. Wireshark then lists
      each accessory of your 'easim run', 'easim console', 'easim pipe' and 'easim serve' as an interface. A capture
      records its cable from then on, and continues after the accessory is unplugged and plugged in again.

      The options below are Wireshark's. To see the interfaces yourself, use --extcap-interfaces.
      """,
    examples: [
      "easim extcap --extcap-interfaces",
      "easim extcap --capture --extcap-interface easim-4711-1 --fifo /tmp/lawk.pcapng",
    ],
    run: runExtcap)
}

private struct ExtcapOptions: CommandOptions {
  var lists = false
  var version: String?
  var interface: String?
  var wantsTypes = false
  var wantsSettings = false
  var captures = false
  var fifo: String?
  var filter: String?
  var shared = SharedOptions()

  static let options: [Option<Self>] = [
    Option("--extcap-interfaces", \.lists, "list the interfaces"),
    Option("--extcap-version", \.version, as: "V", "Wireshark's version (unused)"),
    Option("--extcap-interface", \.interface, as: "NAME", "the interface to use"),
    Option("--extcap-dlts", \.wantsTypes, "list the interface's link types"),
    Option("--extcap-config", \.wantsSettings, "list the interface's settings (there are none)"),
    Option("--capture", \.captures, "record the interface to --fifo until the pipe is closed"),
    Option("--fifo", \.fifo, as: "FILE", "the named pipe or file to write pcapng to"),
    Option("--extcap-capture-filter", \.filter, as: "FILTER", "must be empty; use Wireshark's display filter instead"),
  ]
  static let rules: [OptionRule] = [
    .exclusive(["--extcap-interfaces", "--extcap-dlts", "--extcap-config", "--capture"])
  ]
}

private func runExtcap(_ options: ExtcapOptions, _ console: Console) throws -> ExitCode {
  let found = { try ExtcapInterface.all(in: LocalDirectory.standard()) }
  if options.lists {
    console.out("extcap {version=\(Version.current)}{display=easim}")
    for interface in try found() { console.out(interface.line) }
    return .done
  }
  guard options.wantsTypes || options.wantsSettings || options.captures else {
    throw UsageError("one of --extcap-interfaces, --extcap-dlts, --extcap-config and --capture is required")
  }
  guard let name = options.interface else { throw UsageError("--extcap-interface NAME is missing") }
  if options.wantsSettings { return .done }
  if options.wantsTypes {
    console.out("dlt {number=147}{name=USER0}{display=iAP2 (easim)}")
    return .done
  }
  guard let fifo = options.fifo else { throw UsageError("--fifo FILE is missing") }
  if options.filter?.isEmpty == false {
    throw UsageError("capture filters are not supported: use a display filter, such as iap2.session == 1")
  }
  guard let interface = try found().first(where: { $0.name == name }) else {
    return console.end(
      .unreachable, "the interface \(name) no longer exists: 'easim extcap --extcap-interfaces' lists all interfaces")
  }
  return try interface.record(to: fifo, console)
}

struct ExtcapInterface {
  let name: String
  private let id: String
  private let display: String
  private let socket: String

  var line: String { "interface {value=\(name)}{display=\(display)}" }

  static func all(in local: LocalDirectory) throws -> [ExtcapInterface] {
    guard try local.check() else { return [] }
    return captureSockets(in: local).flatMap { of($0.process, $0.line, local.captureSocket(of: $0.process)) }
  }

  /// Connects to all running programs that use this local directory, and removes the sockets of programs that have
  /// exited.
  static func captureSockets(in local: LocalDirectory) -> [(process: Int32, line: ControlLine)] {
    local.sweep()
    return local.capturingProcesses.compactMap { process in
      ControlLine(path: local.captureSocket(of: process), seconds: 2).map { (process, $0) }
    }
  }

  private static func of(_ process: Int32, _ line: ControlLine, _ path: String) -> [ExtcapInterface] {
    line.send("list\n")
    var found: [ExtcapInterface] = []
    while let text = line.receive() {
      guard let offer = try? JSON5.read(text, file: path), let id = offer["id"]?.word else { continue }
      let title = "easim: \(offer["title"]?.word ?? "") (process \(process))"
      found.append(
        ExtcapInterface(
          name: "easim-\(process)-\(id)", id: id,
          // In Wireshark's list, a brace would end the value.
          display: title.printable.replacing("{", with: "(").replacing("}", with: ")"), socket: path))
    }
    return found
  }

  /// Copies the capture until either Wireshark or the recorded program closes its end.
  func record(to path: String, _ console: Console) throws -> ExitCode {
    let output = try PatientFile.open(path, O_WRONLY | O_CREAT | O_TRUNC, named: "--fifo \(path)")
    defer { close(output) }
    guard let line = ControlLine(path: socket) else {
      return console.end(.unreachable, "the program of \(name) has ended")
    }
    line.send("record \(id)\n")
    var buffer = [UInt8](repeating: 0, count: 65_536)
    var polled = [
      pollfd(fd: line.descriptor, events: Int16(POLLIN), revents: 0), pollfd(fd: output, events: 0, revents: 0),
    ]
    while true {
      if poll(&polled, 2, -1) < 0, errno != EINTR { throw UsageError("poll: \(String(cString: strerror(errno)))") }
      // Wireshark has closed the pipe.
      if polled[1].revents & Int16(POLLERR) != 0 { return .done }
      guard polled[0].revents != 0 else { continue }
      let count = recv(line.descriptor, &buffer, buffer.count, 0)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { return .done }
      if let problem = FileWriting.write(Array(buffer[..<count]), to: output) {
        if problem == EPIPE { return .done }
        throw UsageError("--fifo \(path): \(String(cString: strerror(problem)))")
      }
    }
  }
}
