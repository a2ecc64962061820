// The guide's complete client as a program. It connects to the accessory that 'easim run lawk-view' plays in another
// terminal.
import ExternalAccessory

let discovery = AccessoryDiscovery()
discovery.listen()
discovery.list()

let manager = AutoReconnectManager(
  protocolString: CommandLine.arguments.dropFirst().first ?? "com.lawaken.iap2")
manager.attemptReconnect()
manager.connection?.sendLargeData(Data((0..<10_000).map { UInt8(truncatingIfNeeded: $0) })) { print($0) }
RunLoop.main.run()
