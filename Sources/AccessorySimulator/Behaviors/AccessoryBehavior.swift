import AccessoryCore
import AccessoryProfiles
import AccessorySessions
import IAP2

/// What an accessory does with the bytes of its sessions.
///
/// A behaviour is asked once per session for a handler, which then lives as long as the session. Profiles name the
/// built-in ones; in Swift anything that conforms will do:
///
/// ```swift
/// struct Shout: AccessoryBehavior {
///   func makeHandler(for session: Session, on loop: any EventLoop) -> any SessionHandler { Shouter() }
/// }
/// ```
public protocol AccessoryBehavior {
  /// A handler for a session that was just opened. It may write at once.
  func makeHandler(for session: Session, on loop: any EventLoop) -> any SessionHandler
}

/// Sends back what it receives, in order, and reads no faster than the other side takes it.
public struct EchoBehavior: AccessoryBehavior {
  /// An echo.
  public init() {}

  /// A handler that echoes.
  public func makeHandler(for session: Session, on loop: any EventLoop) -> any SessionHandler { Echo() }

  private final class Echo: SessionHandler {
    func sessionIsReadable(_ session: Session) {
      // Until nothing is left or nothing more is taken: what is not taken stays unread, and so unacknowledged in the end.
      while session.read({ session.write($0) }) > 0 {}
    }

    func sessionIsWritable(_ session: Session) { sessionIsReadable(session) }
    func session(_ session: Session, endedWith end: SessionEnd) {}
  }
}

/// Takes what it receives; with `checks`, it must be the counting pattern, and the first byte that is not is reported.
public struct SinkBehavior: AccessoryBehavior {
  private let checks: Bool
  private let report: (String) -> Void

  /// A sink; `report` hears of the first byte that is not as expected, once per session.
  public init(checks: Bool = false, report: @escaping (String) -> Void = { _ in }) {
    self.checks = checks
    self.report = report
  }

  /// A handler that takes everything.
  public func makeHandler(for session: Session, on loop: any EventLoop) -> any SessionHandler {
    Sink(checks: checks, report: report)
  }

  private final class Sink: SessionHandler {
    private var checks: Bool
    private let report: (String) -> Void
    private var count = 0

    init(checks: Bool, report: @escaping (String) -> Void) {
      self.checks = checks
      self.report = report
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
        let byte = bytes.unsafeLoad(fromByteOffset: offset, as: UInt8.self)
        let expected = UInt8(truncatingIfNeeded: count + offset)
        if byte != expected {
          report("byte \(count + offset) is \(byte), the counting pattern has \(expected) there")
          checks = false
          return
        }
      }
    }

    func sessionIsWritable(_ session: Session) {}
    func session(_ session: Session, endedWith end: SessionEnd) {}
  }
}
