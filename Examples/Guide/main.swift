// The whole client of the guide in the seeds.
import ExternalAccessory

let client = AutoReconnectManager(protocolString: CommandLine.arguments.dropFirst().first ?? "com.lawaken.iap2")
for accessory in EAAccessoryManager.shared().connectedAccessories
where accessory.protocolStrings.contains(client.protocolString) {
  client.connectToAccessory(accessory)
}
if client.connection == nil { print("No Accessories Connected") }
client.connection?.onData = { print("\($0.count) bytes came") }
client.connection?.sendLargeData(Data(repeating: 7, count: 10_000)) { print($0 ? "sent" : "not sent") }
RunLoop.main.run()
