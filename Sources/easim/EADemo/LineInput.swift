import AccessoryCore
import Glibc

/// Reads lines from stdin, but no faster than the caller requests them. Other processes share stdin, so `LineInput`
/// does not make stdin nonblocking. `LineInput` reads only when the loop reports that input is available.
final class LineInput: DescriptorHandler {
  /// The maximum length of a line. The rest of a longer line becomes the next line.
  static let longestLine = 1 << 20

  private let onEvent: (String?) -> Void
  private var watch: (any DescriptorWatch)?
  private var bytes: [UInt8] = []
  private var isOver = false
  private var isWanted = false

  /// Creates the input. `onEvent` receives each line requested by ``want()``, and nil at the end of the input.
  init(on loop: any PollingLoop, onEvent: @escaping (String?) -> Void) throws {
    self.onEvent = onEvent
    watch = try loop.watch(STDIN_FILENO, for: [], self)
  }

  /// Requests a line or the end of the input. The line may be delivered before this method returns.
  func want() {
    isWanted = true
    deliver()
  }

  func close() {
    watch?.cancel()
    watch = nil
  }

  private func deliver() {
    while isWanted, let line = nextLine() {
      isWanted = false
      onEvent(line)
    }
    if isWanted, isOver {
      isWanted = false
      onEvent(nil)
    } else {
      watch?.change(to: isWanted ? .readable : [])
    }
  }

  private func nextLine() -> String? {
    let end = bytes.prefix(Self.longestLine).firstIndex(of: UInt8(ascii: "\n"))
    guard end != nil || bytes.count >= Self.longestLine || isOver && !bytes.isEmpty else { return nil }
    var line = bytes[..<(end ?? min(bytes.count, Self.longestLine))]
    bytes.removeFirst(end.map { $0 + 1 } ?? line.count)
    if line.last == UInt8(ascii: "\r") { line.removeLast() }
    return String(decoding: line, as: UTF8.self)
  }

  func descriptorReady(_ readiness: Readiness) {
    guard isWanted else { return }
    var block = [UInt8](repeating: 0, count: 65_536)
    let count = read(STDIN_FILENO, &block, block.count)
    if count > 0 {
      bytes += block[..<count]
    } else if count == 0 || (errno != EINTR && errno != EAGAIN) {
      isOver = true
    }
    deliver()
  }
}
