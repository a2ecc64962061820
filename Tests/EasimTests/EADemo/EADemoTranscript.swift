import AccessoryCore
import IAP2

@testable import AccessoryHost
@testable import easim

struct EADemoTranscript {
  var app = EADemoApp(lookingAt: "the local directory /b", patience: .seconds(10))
  var now = Instant.origin

  static func accessory(_ id: Int, _ name: String, _ protocols: String...) -> PublishedAccessory {
    var identification = Identification()
    identification.name = name
    identification.serialNumber = "S\(id)"
    identification.protocols = protocols.enumerated().map {
      ExternalAccessoryProtocol(id: UInt8($0.offset + 1), name: $0.element, matchAction: .optional)
    }
    return PublishedAccessory(
      JudgedIdentification(identification), connectionID: id, offersProtocols: true, certificate: CertificateSizes())
  }

  mutating func type(_ line: String) -> [String] {
    do throws(UsageError) {
      guard let command = try EADemoCommand(line: line) else { return [] }
      return told(app.perform(command, now: now))
    } catch {
      return told(app.refuse(error))
    }
  }

  mutating func handle(_ event: EADemoApp.Event) -> [String] {
    told(app.handle(event, now: now))
  }

  mutating func pass(_ time: Duration) -> [String] {
    now = now + time
    return told(app.handleTimeout(now: now))
  }

  private func told(_ actions: [EADemoApp.Action]) -> [String] {
    actions.map { action in
      switch action {
      case .open(let accessory, let name): "open \(accessory.connectionID) \(name)"
      case .send(let bytes, let session): session > 1 ? "send \(bytes.count) on \(session)" : "send \(bytes.count)"
      case .close(let session): session > 1 ? "close \(session)" : "close"
      case .unplug: "unplug"
      case .save(let bytes, let path): "save \(bytes.count) to \(path)"
      case .move(let state): "move to \(state)"
      case .quit: "quit"
      case .output(let line): line.isError ? "! \(line.text)" : line.text
      }
    }
  }
}
