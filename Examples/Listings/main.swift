// Sends a command to the first accessory that offers a protocol, and prints the reply.
import ExternalAccessory

let listings = Listings()
listings.commands = [Array("hello".utf8)]
let session = listings.openSession(forProtocol: CommandLine.arguments.dropFirst().first ?? "com.example.echo")
print(session == nil ? "No Accessories Connected" : "connected to \(session?.accessory?.name ?? "nobody")")
if session != nil {
  while listings.received.count < 5 {
    _ = RunLoop.current.run(mode: .default, before: Date(timeIntervalSinceNow: 0.25))
  }
  print(String(decoding: listings.received, as: UTF8.self))
}
