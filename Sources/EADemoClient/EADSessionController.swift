// The session controller of Apple's EADemo, written from scratch based on EADemo's read-me. The controller opens a
// session on the main run loop, keeps bytes that could not be written yet, collects the bytes that it receives, and
// then posts a notification.
import ExternalAccessory

extension Notification.Name {
  static let sessionDataReceived = Notification.Name("EADSessionDataReceivedNotification")
}

final class EADSessionController: NSObject, EAAccessoryDelegate, StreamDelegate {
  private(set) var accessory: EAAccessory?
  private(set) var protocolString: String?
  private var session: EASession?
  private var writeData = Data()
  private var readData = Data()

  func setupController(for accessory: EAAccessory, withProtocolString protocolString: String) {
    self.accessory = accessory
    self.protocolString = protocolString
  }

  func openSession() -> Bool {
    guard let accessory, let protocolString else { return false }
    accessory.delegate = self
    session = EASession(accessory: accessory, forProtocol: protocolString)
    guard let session else { return false }
    for stream in [session.inputStream, session.outputStream] as [Stream?] {
      stream?.delegate = self
      stream?.schedule(in: .current, forMode: .default)
      stream?.open()
    }
    return true
  }

  func closeSession() {
    for stream in [session?.inputStream, session?.outputStream] as [Stream?] {
      stream?.close()
      stream?.remove(from: .current, forMode: .default)
      stream?.delegate = nil
    }
    session = nil
    writeData = Data()
    readData = Data()
  }

  func write(_ data: Data) {
    writeData.append(data)
    writeWhatFits()
  }

  var readBytesAvailable: Int { readData.count }

  func readData(_ count: Int) -> Data? {
    guard readData.count >= count else { return nil }
    defer { readData.removeFirst(count) }
    return readData.prefix(count)
  }

  private func writeWhatFits() {
    guard let output = session?.outputStream else { return }
    while output.hasSpaceAvailable, !writeData.isEmpty {
      let count = output.write([UInt8](writeData), maxLength: writeData.count)
      guard count > 0 else { return }
      writeData.removeFirst(count)
    }
  }

  private func readWhatIsThere() {
    guard let input = session?.inputStream else { return }
    var buffer = [UInt8](repeating: 0, count: 128)
    while input.hasBytesAvailable {
      let count = input.read(&buffer, maxLength: buffer.count)
      guard count > 0 else { break }
      readData.append(contentsOf: buffer[..<count])
    }
    NotificationCenter.default.post(name: .sessionDataReceived, object: self)
  }

  func accessoryDidDisconnect(_ accessory: EAAccessory) {
    show("the accessory's delegate: \(accessory.name) is gone")
  }

  func stream(_ aStream: Stream, handle eventCode: Stream.Event) {
    switch eventCode {
    case .hasBytesAvailable: readWhatIsThere()
    case .hasSpaceAvailable: writeWhatFits()
    case .endEncountered: show(aStream is InputStream ? "input: end" : "output: end")
    case .errorOccurred: show("error: \(aStream.streamError.map { "\($0)" } ?? "none")")
    default: break
    }
  }
}
