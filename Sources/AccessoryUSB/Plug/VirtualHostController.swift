import Glibc

/// The kernel's virtual host controller (vhci_hcd), which uses a connection to a USB/IP server to present a remote
/// device as if it were plugged into this machine.
public struct VirtualHostController: Sendable {
  /// The reason why a device cannot be plugged in.
  public struct Problem: Error, Equatable, Sendable, CustomStringConvertible {
    /// The problem and how to fix it.
    public let description: String
  }

  struct Port: Equatable {
    var isSuperSpeed: Bool
    var number: Int
    var isFree: Bool
  }

  private let folder: SystemFolder

  /// Opens this machine's controller.
  ///
  /// - Throws: an error if the kernel has no such controller or this process has no access to it.
  public init(folder: String = "/sys/devices/platform/vhci_hcd.0") throws(Problem) {
    self.folder = SystemFolder(path: folder)
    guard access("\(folder)/status", R_OK) == 0 else {
      throw Problem(description: "this kernel has no virtual USB host controller: \(KernelModule.virtualHost.remedy)")
    }
    guard access("\(folder)/attach", W_OK) == 0 else {
      throw Problem(description: "attaching devices to the kernel needs root: run the command with sudo")
    }
  }

  /// Parses the kernel's port table, which consists of a line of headings followed by lines such as "hs 0000 004 000
  /// 00000000 000000 0-0".
  static func ports(_ table: String) -> [Port] {
    table.split(separator: "\n").compactMap { line in
      let words = line.split(separator: " ")
      guard words.count >= 3, words[0] == "hs" || words[0] == "ss", let number = Int(words[1]) else { return nil }
      // The value 4 means that the port is free, 5 that a device is being attached, and 6 that the port is in use.
      return Port(isSuperSpeed: words[0] == "ss", number: number, isFree: words[2] == "004")
    }
  }

  /// Plugs in the device at the other end of a connection, and returns the port that the device uses. The connection
  /// then belongs to the kernel, and the caller closes its own copy.
  public func attach(_ connection: Int32, _ offer: USBIPOffer) throws(Problem) -> Int {
    let wantsSuperSpeed = offer.speed >= 5
    guard let port = try table().first(where: { $0.isFree && $0.isSuperSpeed == wantsSuperSpeed }) else {
      throw Problem(description: "every port of the virtual host controller is in use")
    }
    let code = folder.write("\(port.number) \(connection) \(offer.deviceID) \(offer.speed)", to: "attach")
    guard code == 0 else {
      throw Problem(description: "the kernel refused the device: \(String(cString: strerror(code)))")
    }
    return port.number
  }

  /// Returns true if a device is plugged into this port.
  public func isUsed(_ port: Int) throws(Problem) -> Bool {
    try table().contains { $0.number == port && !$0.isFree }
  }

  /// Unplugs the device at a port.
  public func detach(_ port: Int) {
    _ = folder.write("\(port)", to: "detach")
  }

  /// Reads the first controller's table, `status`; other controllers (`status.1` and so on) are not needed.
  private func table() throws(Problem) -> [Port] {
    guard let table = folder.read("status") else {
      throw Problem(description: "\(folder.path)/status cannot be read: \(String(cString: strerror(errno)))")
    }
    return Self.ports(table)
  }
}
