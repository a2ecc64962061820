import Glibc
import TestSupport

/// A simulated USB device, and programs that see it as the only device: `Tests/Support/USBMock`, on umockdev.
struct USBMock {
  static let absence: String? = {
    do {
      let source = "\(Repository.root)/Tests/Support/USBMock/usb_mock.c"
      let made = try Program(
        path: "/bin/bash",
        [
          "-c",
          #"command -v umockdev-wrapper && cc -o "$1" "$2" $(pkg-config --cflags --libs umockdev-1.0)"#,
          "bash", path, source,
        ],
        environment: search
      ).wait()
      return made.ending == .exit(0)
        ? nil : "NO USB TESTS HERE: apt-get install umockdev libumockdev-dev\n\(made.err)"
    } catch {
      return "NO USB TESTS HERE: \(error)"
    }
  }()

  private static var path: String { "\(BuiltProducts.folder)/usb_mock" }
  private static var search: [String: String] {
    ["PATH": getenv("PATH").map { String(cString: $0) } ?? "/usr/bin:/bin"]
  }

  var descriptors = Self.plain
  var options: [String] = []

  func start(_ words: [String]) throws -> Program {
    try start(program: [BuiltProducts.easim] + words)
  }

  func start(program: [String]) throws -> Program {
    let hex = descriptors.map { ($0 < 16 ? "0" : "") + String($0, radix: 16, uppercase: true) }.joined()
    return try Program(
      path: "/usr/bin/env", ["umockdev-wrapper", Self.path, "--descriptors", hex] + options + ["--"] + program,
      environment: Self.search)
  }

  /// Runs `easim` until it exits, with this device plugged in. If `sign` is given, ends it after such a line.
  ///
  /// If the device is unplugged between a request and its answer, umockdev's library aborts the program that has loaded
  /// it. An aborted run proves nothing about easim, so the run is repeated, up to ten times.
  func run(_ words: String..., until sign: String? = nil) throws -> Program.Remains {
    // A transfer through umockdev's processes takes a millisecond, but much longer on a busy machine, so the time limit
    // is generous.
    let isTimed = !["send", "info", "console"].contains(words.first) || words.contains("--timeout")
    var runs = 0
    while true {
      let program = try start(words + (isTimed ? [] : ["--timeout", "10m"]))
      if let sign, (try? program.line(sign)) != nil { program.send(SIGTERM) }
      let remains = try program.wait()
      runs += 1
      let isAborted = remains.ending == .killed(by: SIGABRT) && remains.err.contains("ERROR: libumockdev-preload: ")
      if !isAborted || runs == 10 { return remains }
    }
  }

  // MARK: Descriptors

  static let device: [UInt8] = [
    0x12, 0x01, 0x00, 0x02, 0x00, 0x00, 0x00, 0x40, 0x09, 0x12, 0x01, 0x00, 0x00, 0x01, 0x01, 0x02, 0x03, 0x01,
  ]
  static let bulkIn: [UInt8] = [0x07, 0x05, 0x81, 0x02, 0x00, 0x02, 0x00]
  static let bulkOut: [UInt8] = [0x07, 0x05, 0x02, 0x02, 0x00, 0x02, 0x00]
  static let plain = device + configuration(1, [interface(0, [0xFF, 0xF0, 0x00], [bulkIn, bulkOut])])

  static func configuration(_ value: UInt8, _ interfaces: [[UInt8]]) -> [UInt8] {
    let body = interfaces.flatMap { $0 }
    return [0x09, 0x02, UInt8(9 + body.count), 0x00, UInt8(interfaces.count), value, 0x00, 0xC0, 0x32] + body
  }

  static func interface(
    _ number: UInt8, alternate: UInt8 = 0, _ kind: [UInt8], _ endpoints: [[UInt8]] = [], name: UInt8 = 0
  ) -> [UInt8] {
    [0x09, 0x04, number, alternate, UInt8(endpoints.count)] + kind + [name] + endpoints.flatMap { $0 }
  }
}
