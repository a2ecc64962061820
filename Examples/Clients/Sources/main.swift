import ExternalAccessory

// Runs the named client with the accessories in the local directory: prints the reply, or fails after ten seconds.
let arguments = CommandLine.arguments
guard arguments.count == 4, let kind = Clients.all[arguments[1]] else {
  print("usage: CLIENTS NAME PROTOCOL REPLY; names: \(Clients.all.keys.sorted().joined(separator: " "))")
  exit(2)
}
let client = kind.init(arguments[2])
let wanted = arguments[3]
let limit = Date(timeIntervalSinceNow: 10)
while client.reply != wanted, Date() < limit {
  _ = RunLoop.main.run(mode: .default, before: Date(timeIntervalSinceNow: 0.01))
}
print("\(arguments[1]): \(client.reply)")
let isRight = client.reply == wanted
client.stop()
exit(isRight ? 0 : 1)
