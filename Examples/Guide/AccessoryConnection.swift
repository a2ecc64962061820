// The connection of the guide in the seeds (sections 4 to 6): a session on the main run loop, reads of 1024 bytes, large
// data in pieces of 512 bytes from another queue.
import ExternalAccessory

final class AccessoryConnection: NSObject, StreamDelegate, @unchecked Sendable {
  private(set) var accessory: EAAccessory?
  private(set) var session: EASession?
  let protocolString: String
  var onData: (Data) -> Void = { _ in }
  private var inputStream: InputStream?
  private var outputStream: OutputStream?

  init(protocolString: String) {
    self.protocolString = protocolString
    super.init()
  }

  func connect(to accessory: EAAccessory) -> Bool {
    guard accessory.protocolStrings.contains(protocolString) else {
      print("the accessory does not support \(protocolString)")
      return false
    }
    guard let session = EASession(accessory: accessory, forProtocol: protocolString) else {
      print("no session")
      return false
    }
    self.accessory = accessory
    self.session = session
    inputStream = session.inputStream
    outputStream = session.outputStream
    setupStreams()
    return true
  }

  private func setupStreams() {
    inputStream?.delegate = self
    outputStream?.delegate = self
    inputStream?.schedule(in: .main, forMode: .default)
    outputStream?.schedule(in: .main, forMode: .default)
    inputStream?.open()
    outputStream?.open()
  }

  func stream(_ aStream: Stream, handle eventCode: Stream.Event) {
    switch eventCode {
    case .hasBytesAvailable: if aStream == inputStream { readData() }
    case .errorOccurred: print("error: \(aStream.streamError?.localizedDescription ?? "unknown")")
    case .endEncountered: closeSession()
    default: break
    }
  }

  private func readData() {
    guard let inputStream else { return }
    var buffer = [UInt8](repeating: 0, count: 1024)
    var received = Data()
    while inputStream.hasBytesAvailable {
      let count = inputStream.read(&buffer, maxLength: buffer.count)
      if count > 0 { received.append(buffer, count: count) } else { break }
    }
    if !received.isEmpty { onData(received) }
  }

  func sendData(_ data: Data) -> Int {
    guard let outputStream, outputStream.hasSpaceAvailable else { return -1 }
    return data.withUnsafeBytes { buffer -> Int in
      guard let pointer = buffer.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return -1 }
      return outputStream.write(pointer, maxLength: data.count)
    }
  }

  func sendLargeData(_ data: Data, packetSize: Int = 512, completion: @escaping @Sendable (Bool) -> Void) {
    DispatchQueue.global(qos: .userInitiated).async { [weak self] in
      var offset = 0
      while offset < data.count {
        let chunk = data.subdata(in: offset..<min(data.count, offset + packetSize))
        while self?.outputStream?.hasSpaceAvailable == false { Thread.sleep(forTimeInterval: 0.01) }
        guard let count = self?.sendData(chunk), count >= 0 else {
          DispatchQueue.main.async { completion(false) }
          return
        }
        offset += count
      }
      DispatchQueue.main.async { completion(true) }
    }
  }

  func closeSession() {
    for stream in [inputStream, outputStream] as [Stream?] {
      stream?.close()
      stream?.remove(from: .main, forMode: .default)
      stream?.delegate = nil
    }
    inputStream = nil
    outputStream = nil
    session = nil
    accessory = nil
  }
}
