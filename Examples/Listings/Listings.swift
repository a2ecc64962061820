// Listings 1 and 2 of Apple's "Connecting to an Accessory", in Swift, line for line.
import ExternalAccessory

final class Listings: NSObject, StreamDelegate {
  /// The queue of commands that Listing 2 mentions.
  var commands: [[UInt8]] = []
  /// The incoming stream data.
  var received: [UInt8] = []

  // Listing 1: creating a communications session for an accessory.
  func openSession(forProtocol protocolString: String) -> EASession? {
    let accessories = EAAccessoryManager.shared().connectedAccessories
    var accessory: EAAccessory?
    var session: EASession?

    for obj in accessories {
      if obj.protocolStrings.contains(protocolString) {
        accessory = obj
        break
      }
    }

    if let accessory {
      session = EASession(accessory: accessory, forProtocol: protocolString)
      if let session {
        session.inputStream?.delegate = self
        session.inputStream?.schedule(in: .current, forMode: .default)
        session.inputStream?.open()
        session.outputStream?.delegate = self
        session.outputStream?.schedule(in: .current, forMode: .default)
        session.outputStream?.open()
      }
    }

    return session
  }

  // Listing 2: processing stream events.
  func stream(_ theStream: Stream, handle streamEvent: Stream.Event) {
    switch streamEvent {
    case .hasBytesAvailable:
      // Process the incoming stream data.
      var buffer = [UInt8](repeating: 0, count: 128)
      let count = (theStream as? InputStream)?.read(&buffer, maxLength: 128) ?? 0
      received += buffer.prefix(max(0, count))
    case .hasSpaceAvailable:
      // Send the next queued command.
      guard let output = theStream as? OutputStream, !commands.isEmpty else { break }
      let command = commands.removeFirst()
      let count = output.write(command, maxLength: command.count)
      if count < command.count { commands.insert(Array(command.dropFirst(max(0, count))), at: 0) }
    default:
      break
    }
  }
}
