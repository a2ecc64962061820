import AccessoryFormats
import Glibc

enum Medium: String, CaseIterable {
  case unix, tcp, pty, local
}

struct MeetingPlace {
  let on: [String]
  let address: [String]
  let environment: [String: String]

  init(_ medium: Medium, named name: String, in folder: String) throws {
    switch medium {
    case .unix: (on, address) = (["--on", "unix:\(folder)/\(name).sock"], ["unix:\(folder)/\(name).sock"])
    case .pty: (on, address) = (["--on", "pty:\(folder)/\(name).tty"], ["pty:\(folder)/\(name).tty"])
    case .local: (on, address) = ([], [])
    case .tcp:
      let port = try Self.freePort()
      (on, address) = (["--on", "tcp:127.0.0.1:\(port)"], ["tcp:127.0.0.1:\(port)"])
    }
    environment = ["EASIM_LOCAL": "\(folder)/local-\(name)"]
  }

  /// Returns a free port. The port must still be free when an accessory is started again.
  private static func freePort() throws -> UInt16 {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(descriptor) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let code = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { raw in
        bind(descriptor, raw, length) == 0 ? getsockname(descriptor, raw, &length) : -1
      }
    }
    guard code == 0 else { throw OptionError("no port is free: \(String(cString: strerror(errno)))") }
    return UInt16(bigEndian: address.sin_port)
  }
}
