import ExternalAccessory
import Foundation

/// Logs each event of a stream, and reads the available bytes.
final class Listener: NSObject, StreamDelegate, @unchecked Sendable {
  func stream(_ stream: Stream, handle event: Stream.Event) {
    var text =
      "\(stream is InputStream ? "input" : "output") event \(event.rawValue) status \(stream.streamStatus.rawValue)"
    if event == .hasBytesAvailable, let input = stream as? InputStream {
      var buffer = [UInt8](repeating: 0, count: 1024)
      text += " read \(input.read(&buffer, maxLength: 1024))"
    }
    log(text)
  }
}

/// Opens a session with both streams, and logs its events.
@discardableResult
func openSession(for what: String, name: String = protocolName) -> EASession? {
  guard let accessory = wanted, let session = EASession(accessory: accessory, forProtocol: name) else {
    log("\(what): nil, with \(wanted.map(line) ?? "no accessory")")
    return nil
  }
  log(
    "\(what): E9: status \(session.inputStream?.streamStatus.rawValue ?? 99), E14: \(session.protocolString ?? "none")")
  let listener = Listener()
  keep(listener)
  keep(session)
  for stream in [session.inputStream, session.outputStream] as [Stream?] {
    stream?.delegate = listener
    stream?.schedule(in: .main, forMode: .default)
    stream?.open()
  }
  return session
}

/// E1 to E5, E7 to E14, F3, F8, F9: when a session is nil, and what ends it. Plug in before you start; unplug when the
/// log says "pull now".
func probeSessions() {
  observe()
  manager.registerForLocalNotifications()
  openSession(for: "E1: a protocol the accessory does not offer", name: "com.example.none")
  let first = openSession(for: "E7: the first session")
  later(5) {
    openSession(for: "E4: a second one for the protocol")
    log("E4: the first one's streams: \(first?.inputStream?.streamStatus.rawValue ?? 99)")
  }
  let accessory = wanted
  later(10) {
    for stream in [first?.inputStream, first?.outputStream] as [Stream?] { stream?.close() }
    log("E12: closed both; pull now, within 10 seconds")
  }
  later(25) {
    let late = accessory.flatMap { EASession(accessory: $0, forProtocol: protocolName) }
    log("E3, F3: a session with the accessory that was pulled: \(late != nil)")
  }
}

/// E6, E15: another app, or another SDK in this app, that uses the same protocol. Open the other app after the first
/// line.
func probeSharing() {
  openSession(for: "E6: this app's session; now use the other app, and return")
  later(60) { openSession(for: "E15: another one, as another SDK of this app would open it") }
}
