import AccessoryCore
import Glibc

/// Carries the bytes of one client: stdin and stdout, or a connected socket.
///
/// It reads only while the client wants to read, so that a client that does not read its answers stops itself. At the end
/// of the input the answers that are due are still sent, and then the client is over.
public final class DescriptorDoor: DescriptorHandler {
  private let input: Int32
  private let output: Int32
  private let closes: Bool
  private let client: ControlClient
  private let loop: any PollingLoop
  private var inputWatch: (any DescriptorWatch)?
  private var outputWatch: (any DescriptorWatch)?
  private var inputEnded = false
  private var outputWaits = false
  /// Called once, when the client is over.
  private var ended: ((String) -> Void)?

  /// Whether the client is over.
  public private(set) var isOver = false

  /// A door that begins at once.
  ///
  /// - Parameters:
  ///   - output: the same as `input` for a socket.
  ///   - closes: whether it closes the descriptors at the end.
  public init(
    input: Int32, output: Int32, closes: Bool, for client: ControlClient, on loop: any PollingLoop,
    ended: @escaping (String) -> Void = { _ in }
  ) throws {
    (self.input, self.output, self.closes) = (input, output, closes)
    (self.client, self.loop, self.ended) = (client, loop, ended)
    Self.makeNonBlocking(output)
    inputWatch = try loop.watch(input, for: .readable, self)
    if output != input { outputWatch = try loop.watch(output, for: [], OutputHandler(self)) }
    client.changed = { [weak self] in self?.flush() }
  }

  deinit {
    inputWatch?.cancel()
    outputWatch?.cancel()
    if closes, !isOver { closeDescriptors() }
  }

  /// Pipes and sockets only: what a terminal is set to is shared with the shell.
  private static func makeNonBlocking(_ descriptor: Int32) {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { return }
    let type = status.st_mode & S_IFMT
    guard type == S_IFIFO || type == S_IFSOCK else { return }
    let flags = fcntl(descriptor, F_GETFL)
    if flags >= 0 { _ = fcntl(descriptor, F_SETFL, flags | O_NONBLOCK) }
  }

  private final class OutputHandler: DescriptorHandler {
    private weak var door: DescriptorDoor?
    init(_ door: DescriptorDoor) { self.door = door }
    func descriptorReady(_ readiness: Readiness) { door?.outputReady(readiness) }
  }

  /// The input is ready; for a socket also the output.
  public func descriptorReady(_ readiness: Readiness) {
    if input == output, readiness.contains(.writable) { flush() }
    guard !isOver else { return }
    if !inputEnded, !readiness.isDisjoint(with: [.readable, .hangup]), client.wantsToRead { readInput() }
    if !isOver, readiness.contains(.hangup), input == output, inputEnded || !client.wantsToRead {
      finish("the connection was closed")
    }
  }

  private func outputReady(_ readiness: Readiness) {
    if readiness.contains(.hangup) { return finish("nobody reads its answers any more") }
    flush()
  }

  private func readInput() {
    let count = loop.withReadBuffer { buffer -> Int in
      let count = Glibc.read(input, buffer.baseAddress, buffer.count)
      if count > 0 { client.receive(RawSpan(_unsafeBytes: UnsafeRawBufferPointer(rebasing: buffer[0..<count]))) }
      return count
    }
    if count == 0 {
      inputEnded = true
    } else if count < 0, errno != EAGAIN, errno != EINTR {
      return finish("it could not be read: \(String(cString: strerror(errno)))")
    }
    flush()
  }

  /// Sends what can be sent, and asks for what can be done next.
  private func flush() {
    guard !isOver else { return }
    outputWaits = false
    while client.unsentCount > 0, !outputWaits {
      var failure: Int32 = 0
      client.send { bytes in
        let sent = bytes.withUnsafeBytes { Glibc.write(output, $0.baseAddress, $0.count) }
        if sent >= 0 {
          outputWaits = sent < bytes.byteCount
          return sent
        }
        if errno != EAGAIN, errno != EINTR { failure = errno }
        outputWaits = true
        return 0
      }
      if failure != 0 { return finish("its answers could not be sent: \(String(cString: strerror(failure)))") }
    }
    if inputEnded, client.isIdle, client.unsentCount == 0 { return finish("the connection was closed") }
    settle()
  }

  private func settle() {
    let reads: Readiness = client.wantsToRead && !inputEnded ? .readable : []
    let writes: Readiness = outputWaits ? .writable : []
    if input == output {
      inputWatch?.change(to: reads.union(writes))
    } else {
      inputWatch?.change(to: reads)
      outputWatch?.change(to: writes)
    }
  }

  /// Ends the client from this side.
  public func close(_ reason: String) { finish(reason) }

  private func finish(_ reason: String) {
    guard !isOver else { return }
    isOver = true
    inputWatch?.cancel()
    outputWatch?.cancel()
    (inputWatch, outputWatch) = (nil, nil)
    if closes { closeDescriptors() }
    client.close(reason)
    let ended = ended
    self.ended = nil
    ended?(reason)
  }

  private func closeDescriptors() {
    Glibc.close(input)
    if output != input { Glibc.close(output) }
  }
}
