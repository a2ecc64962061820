import CLinux
import Glibc

/// The files of one FunctionFS instance. A program uses endpoint 0 to describe the function and to read the host's
/// events. Every other endpoint has its own file.
///
/// The file system is not mounted in any directory, so it disappears when its last file is closed. As a result, if this
/// process is killed, the kernel unbinds the gadget.
final class FunctionFS {
  /// Endpoint 0, which supports polling.
  let control: Int32
  /// The other endpoints, which do not support polling, in descriptor order.
  let endpoints: [Int32]
  private var isClosed = false

  /// Mounts `instance`, which was created by a gadget's function, and writes the accessory's description to it.
  init(instance: String, _ shape: USBAccessoryShape) throws(GadgetError) {
    let folder = clinux_mount_functionfs(instance)
    guard folder >= 0 else {
      switch errno {
      case ENOSYS: throw .oldKernel
      case ENODEV: throw .noFunctionFS
      default: throw GadgetError("mount FunctionFS", code: errno)
      }
    }
    defer { Glibc.close(folder) }
    var opened: [Int32] = []
    do throws(GadgetError) {
      opened.append(try Self.open("ep0", in: folder))
      for image in [FunctionFSImage.descriptors(shape), FunctionFSImage.strings(shape)] {
        guard write(opened[0], image, image.count) == image.count else {
          throw GadgetError("describe the accessory to FunctionFS", code: errno)
        }
      }
      let count = shape.interfaces(at: shape.speed).reduce(0) { $0 + $1.endpoints.count }
      for number in 1...count { opened.append(try Self.open("ep\(number)", in: folder)) }
    } catch {
      for file in opened { Glibc.close(file) }
      throw error
    }
    control = opened[0]
    endpoints = Array(opened[1...])
  }

  deinit {
    if !isClosed { close() }
  }

  /// Closes all files. After this call, no other method may be called.
  func close() {
    isClosed = true
    Glibc.close(control)
    for file in endpoints { Glibc.close(file) }
  }

  private static func open(_ name: String, in folder: Int32) throws(GadgetError) -> Int32 {
    let file = openat(folder, name, O_RDWR | O_NONBLOCK | O_CLOEXEC)
    guard file >= 0 else { throw GadgetError("open \(name) of FunctionFS", code: errno) }
    return file
  }

  /// Returns the events since the previous call, if any. A setup event must be answered before the next call.
  ///
  /// - Throws: an error if endpoint 0 will report no more events.
  func events() throws(GadgetError) -> [FunctionFSEvent] {
    var bytes = [UInt8](repeating: 0, count: 4 * FunctionFSEvent.size)
    while true {
      let count = read(control, &bytes, bytes.count)
      if count >= 0 { return FunctionFSEvent.read(bytes[..<count]) }
      switch errno {
      // The kernel returns EIDRM once after the host has abandoned a setup request.
      case EINTR, EIDRM: continue
      case EAGAIN: return []
      default: throw GadgetError("read endpoint 0 of FunctionFS", code: errno)
      }
    }
  }

  /// Answers the most recent setup packet. The answer is dropped if the host has abandoned the request.
  ///
  /// This call blocks until the host has read the data stage, so answers should rarely contain data. Currently, none
  /// do.
  func reply(_ reply: GadgetControl.Reply) {
    switch reply {
    case .data(let bytes): _ = write(control, bytes, bytes.count)
    case .done, .stall(hostReads: true): _ = read(control, nil, 0)
    case .stall(hostReads: false): _ = write(control, nil, 0)
    }
  }

  /// The packet size of the bulk endpoints at the device's current speed.
  var packetSize: Int? {
    let size = clinux_functionfs_packet_size(endpoints[0])
    return size > 0 ? Int(size) : nil
  }
}

/// What must first be written to FunctionFS's endpoint 0: the descriptors for each speed, followed by the strings. All
/// numbers are little-endian.
///
/// When a gadget is bound, FunctionFS assigns its own numbers to the interfaces, strings and endpoints. The numbers in
/// these descriptors only show which interfaces, strings and endpoints belong together. The endpoint files are numbered
/// in descriptor order: ep1, ep2, …
enum FunctionFSImage {
  private static let descriptorsMagic: UInt32 = 3
  private static let stringsMagic: UInt32 = 2

  private enum Flags {
    static let fullSpeed: UInt32 = 1
    static let highSpeed: UInt32 = 2
    /// With this flag, the kernel forwards any device request that it does not answer itself.
    static let everyRequest: UInt32 = 64
    /// With this flag, the kernel forwards requests even before the host has selected the configuration.
    static let beforeConfiguration: UInt32 = 128
  }

  /// The descriptors cover both speeds, because the host's port might support only full speed.
  static func descriptors(_ shape: USBAccessoryShape) -> [UInt8] {
    let speeds = [USBSpeed.full, .high].map { shape.interfaces(at: $0) }
    let counts = speeds.map { $0.reduce(0) { $0 + 1 + $1.endpoints.count } }
    let names = interfaceNames(shape)
    let body = speeds.joined().flatMap { interface in
      interface.descriptor(namedBy: UInt8((names.firstIndex(of: interface.nameIndex) ?? -1) + 1))
    }
    let flags = Flags.fullSpeed | Flags.highSpeed | Flags.everyRequest | Flags.beforeConfiguration
    let head = [descriptorsMagic, UInt32(12 + 4 * counts.count + body.count), flags] + counts.map { UInt32($0) }
    return head.flatMap(\.littleEndianBytes) + body
  }

  static func strings(_ shape: USBAccessoryShape) -> [UInt8] {
    let names = interfaceNames(shape)
    var body: [UInt8] = names.isEmpty ? [] : [0x09, 0x04]
    for name in names { body += (shape.text(name) ?? "").utf8 + [0] }
    let head = [stringsMagic, UInt32(16 + body.count), UInt32(names.count), names.isEmpty ? 0 : 1]
    return head.flatMap(\.littleEndianBytes) + body
  }

  /// Returns the string indices of the interface names, without duplicates. FunctionFS identifies a string by its
  /// position in this list, counting from 1.
  private static func interfaceNames(_ shape: USBAccessoryShape) -> [UInt8] {
    shape.interfaces(at: shape.speed).map(\.nameIndex).reduce(into: []) { names, name in
      if name != 0, !names.contains(name) { names.append(name) }
    }
  }
}
