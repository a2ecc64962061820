import AccessoryCore
import AccessoryHost
import AccessorySessions
import IAP2

/// An app that sends the same few bytes at the same times, regardless of what arrives, and stores the bytes that it
/// receives.
final class TimedApp: AppHandler, SessionHandler {
  private(set) var answers: [UInt8] = []
  private let protocolName: String
  private let loop: any EventLoop
  private var view: AppView?
  private var isOpen = false

  init(of protocolName: String, in rig: ReplayRig) {
    (self.protocolName, loop) = (protocolName, rig.loop)
    view = rig.world.device.makeApp(self, settings: ReplayRig.everything)
  }

  func leave() {
    view?.close()
    view = nil
  }

  func accessoryDidConnect(_ accessory: PublishedAccessory, _ app: AppView) {
    guard !isOpen, accessory.protocols.contains(protocolName),
      let session = try? app.openSession(with: accessory, protocolName: protocolName)
    else { return }
    isOpen = true
    session.handler = self
    for (number, request) in ["HELLO\r\n", "STATUS\r\n", "\u{2}\u{1}\u{3}"].enumerated() {
      loop.schedule(after: .seconds(1 + number)) { session.write(Array(request.utf8).span.bytes) }
    }
    loop.schedule(after: .seconds(8)) { session.close() }
  }

  func accessoryDidDisconnect(_ accessory: PublishedAccessory, _ app: AppView) {}

  func sessionIsReadable(_ session: Session) {
    session.read { bytes in
      answers += bytes.withUnsafeBytes { Array($0) }
      return bytes.byteCount
    }
  }

  func sessionIsWritable(_ session: Session) {}
  func session(_ session: Session, endedWith end: SessionEnd) {}
}
