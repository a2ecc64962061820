import AccessoryCore

/// Asks a USB/IP server on a thread of its own, so that one that is slow, or answers without end, holds up no loop.
///
/// Each question has a connection for itself; they are put one after the other.
///
/// ```swift
/// let inquiry = USBIPInquiry(host: "127.0.0.1", port: 3240, on: loop)
/// inquiry.list { offers in print(offers) }
/// ```
public final class USBIPInquiry {
  private let host: String
  private let port: UInt16
  private let loop: any EventLoop
  private let calls = BlockingUSBCalls()

  /// For questions to this server, whose answers are told on the loop.
  public init(host: String, port: UInt16, on loop: any EventLoop) {
    (self.host, self.port, self.loop) = (host, port, loop)
  }

  /// Asks which devices there are.
  public func list(_ hear: @escaping (Result<[USBIPOffer], USBIPSocket.Problem>) -> Void) {
    ask(hear) { host, port throws(USBIPSocket.Problem) in try USBIPSocket.list(host: host, port: port) }
  }

  /// Asks for a device; the connection that it is had by goes to the kernel.
  public func take(_ busID: String, _ hear: @escaping (Result<Taken, USBIPSocket.Problem>) -> Void) {
    ask(hear) { host, port throws(USBIPSocket.Problem) in
      let connection = try USBIPSocket(host: host, port: port)
      return Taken(connection: connection, offer: try connection.take(busID))
    }
  }

  /// A device that was had.
  public struct Taken: Sendable {
    /// By which it is used. The device is lost when nobody holds it.
    public let connection: USBIPSocket
    /// What it is.
    public let offer: USBIPOffer
  }

  private func ask<Answer: Sendable>(
    _ hear: @escaping (Result<Answer, USBIPSocket.Problem>) -> Void,
    _ question: @escaping @Sendable (String, UInt16) throws(USBIPSocket.Problem) -> Answer
  ) {
    let (host, port, loop, hear) = (host, port, loop, LoopBound(hear, on: loop))
    calls.run {
      let answer = Result { () throws(USBIPSocket.Problem) in try question(host, port) }
      loop.execute { hear.value(answer) }
    }
  }
}
