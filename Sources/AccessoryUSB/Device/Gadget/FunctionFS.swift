import CLinux
import Glibc
import LinuxIO

/// The files of one FunctionFS instance. A program uses endpoint 0 to describe the function and to read the host's
/// events. Every other endpoint has its own file.
///
/// The file system is not mounted in any directory, so it disappears when its last file is closed. As a result, if this
/// process is killed, the kernel unbinds the gadget.
final class FunctionFS {
  /// Endpoint 0, which supports polling.
  let control: WatchedDescriptor
  /// The other endpoints, which do not support polling, in descriptor order.
  private(set) var endpoints: [Int32]

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
      for image in [FunctionFSImage.descriptors(shape), FunctionFSImage.strings] {
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
    control = WatchedDescriptor(taking: opened[0])
    endpoints = Array(opened[1...])
  }

  deinit { close() }

  /// Closes all files. After this call, no other method may be called.
  func close() {
    control.close()
    for file in endpoints { Glibc.close(file) }
    endpoints = []
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
      let count = read(control.number, &bytes, bytes.count)
      if count >= 0 { return FunctionFSEvent.read(bytes[..<count]) }
      switch errno {
      // The kernel returns EIDRM once after the host has abandoned a setup request.
      case EINTR, EIDRM: continue
      case EAGAIN: return []
      default: throw GadgetError("read endpoint 0 of FunctionFS", code: errno)
      }
    }
  }

  /// Refuses the most recent request. FunctionFS stalls when endpoint 0 is accessed in the wrong direction: read while
  /// the host is reading, or written while the host is writing.
  func stall(hostReads: Bool) {
    _ = hostReads ? read(control.number, nil, 0) : write(control.number, nil, 0)
  }

  /// The packet size of the bulk endpoints at the device's current speed.
  var packetSize: Int? {
    let size = clinux_functionfs_packet_size(endpoints[0])
    return size > 0 ? Int(size) : nil
  }
}

/// An event that endpoint 0 reports.
///
/// The kernel queues only a few events and drops those that newer events make obsolete: a single `enable` can stand for
/// a `disable` and an `enable`, and an `unbind` replaces all earlier events. Every event is therefore possible in every
/// state.
enum FunctionFSEvent: Equatable {
  /// The host selected the configuration or the alternate setting, so the endpoints restart.
  case enable
  /// The host selected configuration 0, reset the device or disconnected, so the endpoints no longer exist.
  case disable
  case unbind
  /// The host sent a request that the kernel does not answer itself. An accessory supports no such request.
  case setup(hostReads: Bool)
  case suspend
  case resume
  case other

  /// The size of an event. Its first eight bytes contain the setup packet, if any, and the ninth contains the kind of
  /// event.
  static let size = 12

  /// Parses the events in the bytes that were read. Ignores an incomplete event at the end.
  static func read(_ bytes: ArraySlice<UInt8>) -> [Self] {
    stride(from: bytes.startIndex, through: bytes.endIndex - size, by: size).map { at in
      switch bytes[at + 8] {
      case 1: .unbind
      case 2: .enable
      case 3: .disable
      case 4: .setup(hostReads: bytes[at] & 0x80 != 0)
      case 5: .suspend
      case 6: .resume
      default: .other
      }
    }
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

  /// The flags of the full-speed and high-speed descriptors.
  private static let bothSpeeds: UInt32 = 1 | 2

  /// The descriptors cover both speeds, because the host's port might support only full speed.
  static func descriptors(_ shape: USBAccessoryShape) -> [UInt8] {
    let speeds = [USBSpeed.full, .high].map { shape.interfaces(at: $0) }
    let counts = speeds.map { $0.reduce(0) { $0 + 1 + $1.endpoints.count } }
    let body = speeds.joined().flatMap { $0.descriptor(namedBy: 1) }
    let head =
      [descriptorsMagic, UInt32(12 + 4 * counts.count + body.count), bothSpeeds]
      + counts.map { UInt32($0) }
    return head.flatMap(\.littleEndianBytes) + body
  }

  /// The only string, in English (United States): the name of the interface.
  static let strings: [UInt8] = {
    let body = [0x09, 0x04] + USBAccessoryShape.interfaceName.utf8 + [0]
    return [stringsMagic, UInt32(16 + body.count), 1, 1].flatMap(\.littleEndianBytes) + body
  }()
}
