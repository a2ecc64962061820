import AccessorySessions
import IAP2

/// Takes what it receives; with `checks`, it must be the counting pattern 00, 01 … FF, 00 …, and the first byte that is
/// not is told as a warning, once per session.
public struct SinkBehavior: AccessoryBehavior {
  private let checks: Bool

  /// A sink.
  public init(checks: Bool = false) {
    self.checks = checks
  }

  /// A handler that takes everything.
  public func makeHandler(for session: Session, in context: BehaviorContext) -> any SessionHandler {
    Sink(checks: checks, context)
  }

  private final class Sink: SessionHandler {
    private var checks: Bool
    private let context: BehaviorContext
    private var count = 0

    init(checks: Bool, _ context: BehaviorContext) {
      self.checks = checks
      self.context = context
    }

    func sessionIsReadable(_ session: Session) {
      session.read { bytes in
        if checks { check(bytes) }
        count += bytes.byteCount
        return bytes.byteCount
      }
    }

    private func check(_ bytes: RawSpan) {
      for offset in 0..<bytes.byteCount {
        let got = bytes.unsafeLoad(fromByteOffset: offset, as: UInt8.self)
        let expected = UInt8(truncatingIfNeeded: count + offset)
        if got != expected {
          context.warn(
            "byte \(count + offset) is \(Hex.plain([got])) and should be \(Hex.plain([expected])) to go on counting; "
              + "what follows is not checked")
          checks = false
          return
        }
      }
    }

    func sessionIsWritable(_ session: Session) {}
    func session(_ session: Session, endedWith end: SessionEnd) {}
  }
}
