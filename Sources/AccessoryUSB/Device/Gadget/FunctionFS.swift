import AccessoryCore
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

/// Transfers data through a pair of FunctionFS files with kernel AIO. The files cannot be polled, and a blocking read
/// or write would stop the loop. The loop watches an eventfd that signals completed transfers.
///
/// Even after a transfer is cancelled, its memory must not be used until the kernel reports that the transfer is
/// complete. Destroying the AIO context waits for all pending transfers, so their memory is freed only after the
/// context has been destroyed.
final class KernelTransfers: TransferQueue {
  /// Each read covers only one packet, so the bus stays busy only if many reads are pending.
  static let mostReads = 64
  static let mostWrites = 8
  /// The maximum number of bytes per write. A limit is needed because the kernel copies each write into a single block
  /// of memory.
  static let writeSize = 16 * 1024
  private static let readSize = 1024

  weak var handler: (any TransferHandler)?
  /// Called before completed transfers are reported, because events from endpoint 0 must be handled before them.
  var willReport: () -> Void = {}
  private let files: (incoming: Int32, outgoing: Int32)
  private let events: WatchedDescriptor
  private var context: UInt64 = 0
  private let operations: UnsafeMutablePointer<iocb>
  private let memory: UnsafeMutableRawPointer
  private var freeReads = Array(0..<mostReads)
  private var freeWrites = Array(mostReads..<mostReads + mostWrites)
  private var tags = [Int](repeating: 0, count: slots)
  private var inUse = [Bool](repeating: false, count: slots)

  private static var slots: Int { mostReads + mostWrites }
  private static var memorySize: Int { mostReads * readSize + mostWrites * writeSize }

  /// - Parameters:
  ///   - incoming: the file for the endpoint from which the host reads.
  ///   - outgoing: the file for the endpoint to which the host writes.
  init(incoming: Int32, outgoing: Int32, on loop: any PollingLoop) throws(GadgetError) {
    files = (incoming, outgoing)
    events = WatchedDescriptor(taking: eventfd(0, Int32(EFD_NONBLOCK | EFD_CLOEXEC)))
    operations = .allocate(capacity: Self.slots)
    operations.initialize(repeating: iocb(), count: Self.slots)
    memory = .allocate(byteCount: Self.memorySize, alignment: 4096)
    // From this point on, deinit releases everything.
    guard events.number >= 0 else { throw GadgetError("make an eventfd", code: errno) }
    guard clinux_aio_make(UInt32(Self.slots), &context) == 0 else {
      throw GadgetError("set up kernel AIO", code: errno)
    }
    do { try events.watch(for: .readable, on: loop) { [unowned self] _ in takeEnds() } } catch {
      throw .refused("watch an eventfd", code: EMFILE)
    }
  }

  deinit {
    close()
    operations.deallocate()
    memory.deallocate()
  }

  func close() {
    events.close()
    if context != 0 { clinux_aio_end(context) }
    context = 0
  }

  // MARK: Beginning

  func read(_ count: Int, size: Int, tag: Int) -> Result<Int, TransferProblem> {
    precondition(size <= Self.readSize, "a read must be of one packet")
    let first = max(0, freeReads.count - count)
    let slots = Array(freeReads[first...])
    for slot in slots { prepare(slot, files.outgoing, UInt16(IOCB_CMD_PREAD), size, tag) }
    let result = submit(slots)
    if case .success(let begun) = result { freeReads.removeSubrange(first..<first + begun) }
    return result
  }

  func write(_ bytes: ArraySlice<UInt8>, tag: Int) -> Result<Bool, TransferProblem> {
    precondition(bytes.count <= Self.writeSize, "a write can have at most \(Self.writeSize) bytes")
    guard let slot = freeWrites.last else { return .success(false) }
    UnsafeMutableRawBufferPointer(start: buffer(slot), count: Self.writeSize).copyBytes(from: bytes)
    prepare(slot, files.incoming, UInt16(IOCB_CMD_PWRITE), bytes.count, tag)
    let result = submit([slot])
    if case .success(1) = result { freeWrites.removeLast() }
    return result.map { $0 == 1 }
  }

  private func buffer(_ slot: Int) -> UnsafeMutableRawPointer {
    slot < Self.mostReads
      ? memory + slot * Self.readSize
      : memory + Self.mostReads * Self.readSize + (slot - Self.mostReads) * Self.writeSize
  }

  private func prepare(_ slot: Int, _ file: Int32, _ command: UInt16, _ size: Int, _ tag: Int) {
    var operation = iocb()
    operation.aio_data = UInt64(slot)
    operation.aio_lio_opcode = command
    operation.aio_fildes = UInt32(file)
    operation.aio_buf = UInt64(UInt(bitPattern: buffer(slot)))
    operation.aio_nbytes = UInt64(size)
    // The value of IOCB_FLAG_RESFD, a macro that Swift cannot import.
    operation.aio_flags = 1
    operation.aio_resfd = UInt32(bitPattern: events.number)
    operations[slot] = operation
    tags[slot] = tag
  }

  private func submit(_ slots: [Int]) -> Result<Int, TransferProblem> {
    guard !slots.isEmpty else { return .success(0) }
    guard context != 0 else { return .failure(.away) }
    var pointers: [UnsafeMutablePointer<iocb>?] = slots.map { operations + $0 }
    let begun = clinux_aio_submit(context, pointers.count, &pointers)
    guard begun > 0 else { return .failure(Self.problem(errno)) }
    for slot in slots.prefix(begun) { inUse[slot] = true }
    return .success(begun)
  }

  private static func problem(_ code: Int32) -> TransferProblem {
    switch code {
    // The endpoint is not configured (EAGAIN), the gadget was unplugged or unbound, or the transfer was cancelled.
    case EAGAIN, ESHUTDOWN, ENODEV, ECONNRESET, ECANCELED, EINTR: .away
    default: .failed(code)
    }
  }

  func cancelAll() {
    guard context != 0 else { return }
    for slot in 0..<Self.slots where inUse[slot] { clinux_aio_cancel(context, operations + slot) }
  }

  // MARK: Ending

  private func takeEnds() {
    var count: UInt64 = 0
    _ = Glibc.read(events.number, &count, 8)
    willReport()
    withUnsafeTemporaryAllocation(of: io_event.self, capacity: Self.slots) { ends in
      guard context != 0 else { return }
      let count = clinux_aio_take(context, ends.count, ends.baseAddress)
      guard count > 0 else { return }
      for end in ends[..<Int(count)] { report(slot: Int(end.data), end.res) }
    }
    handler?.transfersReported()
  }

  private func report(slot: Int, _ result: Int64) {
    let isRead = slot < Self.mostReads
    inUse[slot] = false
    let problem = result < 0 ? Self.problem(Int32(truncatingIfNeeded: -result)) : nil
    let bytes = UnsafeRawBufferPointer(start: buffer(slot), count: isRead ? max(0, Int(result)) : 0)
    handler?.transferEnded(tag: tags[slot], isRead: isRead, problem, bytes.bytes)
    if isRead { freeReads.append(slot) } else { freeWrites.append(slot) }
  }
}

/// Performs the bulk transfers of a gadget. ``KernelTransfers`` uses kernel AIO; tests use their own implementation.
///
/// Each transfer has a tag and completes exactly once, in a later turn, even if it is cancelled. The transfers in each
/// direction complete in the order in which they were started.
protocol TransferQueue: AnyObject {
  var handler: (any TransferHandler)? { get set }

  /// Starts `count` reads of up to `size` bytes each, and returns how many were started. While cancelled transfers are
  /// still pending, fewer reads may be started; this is not an error.
  func read(_ count: Int, size: Int, tag: Int) -> Result<Int, TransferProblem>

  /// Starts writing one transfer, which may be empty. Returns false if there is no room for another transfer.
  func write(_ bytes: ArraySlice<UInt8>, tag: Int) -> Result<Bool, TransferProblem>

  func cancelAll()
}

protocol TransferHandler: AnyObject {
  /// Called when a transfer has completed. The bytes that were read are valid only until this call returns.
  func transferEnded(tag: Int, isRead: Bool, _ problem: TransferProblem?, _ bytes: RawSpan)

  func transfersReported()
}

enum TransferProblem: Error, Equatable {
  /// The host is not using the endpoint or the transfer was cancelled, neither of which is an error.
  case away
  /// Another problem occurred. The associated value is the kernel's error number.
  case failed(Int32)
}
