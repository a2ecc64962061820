import CLinux
import Glibc

/// The files of one FunctionFS: endpoint 0, on which a program says what the function is and hears what the host does, and
/// one file for each endpoint.
///
/// It is mounted in no place, so it goes with the last of its files: also when this process is killed, upon which the
/// kernel takes the gadget from its controller by itself.
final class FunctionFS {
  /// Endpoint 0. It can be polled.
  let control: Int32
  /// The endpoints, in the order of their descriptors. They cannot be polled.
  let endpoints: [Int32]
  private var isClosed = false

  /// Mounts `instance`, which a gadget's function has made, and tells it what the accessory is.
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

  /// Closes every file. The last use of it.
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

  /// What the host did since the last time; nothing when it did nothing. A setup is answered before the next call.
  ///
  /// - Throws: when endpoint 0 has nothing to say ever again.
  func events() throws(GadgetError) -> [FunctionFSEvent] {
    var bytes = [UInt8](repeating: 0, count: 4 * FunctionFSEvent.size)
    while true {
      let count = read(control, &bytes, bytes.count)
      if count >= 0 { return FunctionFSEvent.read(bytes[..<count]) }
      switch errno {
      // A setup that the host has given up meanwhile says so once.
      case EINTR, EIDRM: continue
      case EAGAIN: return []
      default: throw GadgetError("read endpoint 0 of FunctionFS", code: errno)
      }
    }
  }

  /// Answers the setup that was told last. A host that has given it up hears nothing, and that is all.
  ///
  /// A data stage waits in this call until the host has taken it, so an accessory should answer few requests with data;
  /// none of those that come here is, today.
  func reply(_ reply: GadgetControl.Reply) {
    switch reply {
    case .data(let bytes): _ = write(control, bytes, bytes.count)
    case .done, .stall(hostReads: true): _ = read(control, nil, 0)
    case .stall(hostReads: false): _ = write(control, nil, 0)
    }
  }

  /// The packet size of the bulk endpoints at the speed that the host gave the device.
  var packetSize: Int? {
    let size = clinux_functionfs_packet_size(endpoints[0])
    return size > 0 ? Int(size) : nil
  }
}
