import AccessoryCore
import AccessoryFormats
import AccessorySessions
import AccessoryUSB
import Glibc
import LinuxIO

extension CommandSpec {
  static let plug = CommandSpec(
    name: "plug", summary: "attach USB/IP accessories to this machine's kernel, again after each flicker",
    details: """
      Attach the accessories of 'easim run --on usbip:HOST:PORT', or of any USB/IP server, to this machine's kernel as USB
      devices, until Ctrl-C. When an accessory is unplugged and returns, easim attaches it again ('usbip attach' leaves
      this to you), so a flicker is a real unplug and replug. Needs root and the kernel module vhci-hcd.

      Any kernel driver may use an attached device, so easim attaches only accessories: devices with an interface for iAP2. A
      server on this machine must belong to root or to the user who ran sudo, because another user could be listening on its
      port.
      """,
    examples: ["easim plug usbip:127.0.0.1:3240 --timeout 1s"], run: runPlug)
}

private struct PlugOptions: CommandOptions {
  var address = Address.standardLocal
  var limit: Duration?
  var takesAnyDevice = false
  var shared = SharedOptions()

  static let operands: [Operand<Self>] = [.address(\.address, as: "usbip:HOST:PORT")]
  static let options: [Option<Self>] = [
    .timeout.described("how long to wait for the first accessory"),
    Option("--for", \.limit, .optional(.duration), "unplug after TIME"),
    Option("--any-device", \.takesAnyDevice, "also attach devices that are not accessories"),
    .anyUser.described("also attach from other users' servers on this machine"),
    .allowRemote, .json,
  ]
}

private func runPlug(_ options: PlugOptions, _ console: Console) throws -> ExitCode {
  let address = options.address
  guard case .usbip(let host, let port) = address else {
    throw UsageError("\(address): expected the address of a USB/IP server, usbip:HOST:PORT")
  }
  // Using a remote server needs permission, because this kernel accepts every device that the server describes.
  guard options.shared.allowsRemote || Transports.isThisMachine(host) else {
    throw TransportError.remoteNotAllowed(address)
  }
  let patience = options.shared.timeout
  let runtime = try CommandRuntime(console)
  let users = TrustedUsers()
  let takesAnyUser = options.shared.takesAnyUser
  let rules = PlugRules(takesAnyDevice: options.takesAnyDevice) { connection in
    takesAnyUser ? .trusted : users.judge(TCPPeer(of: connection))
  }
  let plugs = KernelPlugs(host: host, port: port, rules: rules, on: runtime.loop) { event in
    console.show(TimelineEvent(time: runtime.loop.now, side: .cable, kind: event.kind))
  }
  runtime.tellOfWait(at: address, atMost: patience, console) {
    (!plugs.hasAccepted, plugs.trouble.map { .unusable(address, $0.withOption) })
  }
  _ = runtime.run(until: { plugs.hasAccepted }, limit: patience)
  guard plugs.hasAccepted else {
    if let code = runtime.stopped(console, " before an accessory was attached") { return code }
    let reason = TransportError.unusable(address, plugs.trouble?.withOption ?? "it does not answer")
    return console.end(.unreachable, "\(address.explanation(of: reason, within: patience))")
  }
  _ = runtime.run(until: { plugs.failure != nil }, limit: options.limit)
  plugs.end()
  if let failure = plugs.failure {
    guard plugs.controller != nil else { throw UsageError(failure.description) }
    return console.end(.checkFailed, "\(failure)")
  }
  return console.end(.done, "unplugged; \(plugs.count.counted("accessory", "accessories")) attached")
}

extension TrustedUsers {
  /// Decides whether to trust a server on this machine; `--allow-remote` applies to other machines.
  fileprivate func judge(_ peer: TCPPeer) -> PlugRules.Verdict {
    let trusted = names("or")
    switch peer {
    case .remote: return .trusted
    case .user(let user) where contains(user): return .trusted
    case .user(let user):
      return .refused(
        "the server belongs to user \(user), but only servers of \(trusted) may attach devices to this kernel")
    case .unknown:
      return .unknown("the system does not show the server's owner, but only servers of \(trusted) may attach devices")
    }
  }
}

extension PlugProblem {
  fileprivate var withOption: String {
    switch self {
    case .failed: description
    case .noAccessory: "\(self); to attach it anyway, use --any-device"
    case .server: "\(self); to trust it anyway, use --any-user"
    }
  }
}

extension KernelPlugs.Event {
  fileprivate var kind: TimelineEvent.Kind {
    switch self {
    case .attached(let busID, let port): .attach("this kernel's virtual port \(port), from bus id \(busID)")
    case .detached: .detach("unplugged")
    case .problem(let busID?, .failed(let reason)): .warning("\(busID) cannot be attached: \(reason)")
    case .problem(let busID?, let problem): .warning("\(busID): \(problem.withOption)")
    case .problem(nil, let problem): .warning(problem.withOption)
    }
  }
}
