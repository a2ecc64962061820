// Listings 1 and 2 of Apple's "Connecting to an Accessory", in Swift, line for line.
import ExternalAccessory

final class Listings: NSObject, StreamDelegate {
  var bytesRead = 0

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
      bytesRead += max(0, (theStream as? InputStream)?.read(&buffer, maxLength: 128) ?? 0)
    case .hasSpaceAvailable:
      // Send the next queued command.
      break
    default:
      break
    }
  }
}

let listings = Listings()
let session = listings.openSession(forProtocol: CommandLine.arguments.dropFirst().first ?? "com.example.echo")
print(session == nil ? "No Accessories Connected" : "connected to \(session?.accessory?.name ?? "nobody")")
