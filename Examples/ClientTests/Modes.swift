import ClientsSwift5
import ClientsSwift5MainActor
import ClientsSwift6
import ClientsSwift6MainActor
import Testing

/// A client that runs.
struct Running: Sendable {
  let reply: @Sendable () -> String
  let stop: @Sendable () -> Void
}

/// A language mode in which the clients are compiled.
struct Mode: Sendable, CustomTestStringConvertible {
  let name: String
  let start: @Sendable (_ client: String, _ protocolName: String) -> Running?
  var testDescription: String { name }

  static let all = [
    Mode(name: "Swift5") { name, wanted in
      let client = ClientsSwift5.Clients.all[name]?.init(wanted)
      return client.map { client in
        Running {
          client.reply
        } stop: {
          client.stop()
        }
      }
    },
    Mode(name: "Swift6") { name, wanted in
      let client = ClientsSwift6.Clients.all[name]?.init(wanted)
      return client.map { client in
        Running {
          client.reply
        } stop: {
          client.stop()
        }
      }
    },
    Mode(name: "Swift5MainActor") { name, wanted in
      let client = ClientsSwift5MainActor.Clients.all[name]?.init(wanted)
      return client.map { client in
        Running {
          client.reply
        } stop: {
          client.stop()
        }
      }
    },
    Mode(name: "Swift6MainActor") { name, wanted in
      let client = ClientsSwift6MainActor.Clients.all[name]?.init(wanted)
      return client.map { client in
        Running {
          client.reply
        } stop: {
          client.stop()
        }
      }
    },
  ]
}
