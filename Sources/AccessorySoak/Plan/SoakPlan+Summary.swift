import AccessoryFormats
import AccessoryWorlds

extension SoakPlan {
  /// The plan as text: the contents of the world and its steps, without defaults.
  public var summary: String {
    var lines = ["seed \(seed): \(accessories.count) accessories, \(apps.count) apps, \(DurationText.format(length))"]
    for (number, part) in accessories.enumerated() {
      let link = part.profile.link
      lines.append(
        "accessory \(number): window \(link.maximumOutstandingPackets), length \(link.maximumPacketLength), "
          + "timeout \(DurationText.format(link.retransmissionTimeout)) x\(link.maximumRetransmissions), "
          + "acks \(link.maximumCumulativeAcknowledgements) "
          + "after \(DurationText.format(link.cumulativeAcknowledgementTimeout))"
          + (link.zeroAcknowledgement ? ", zero-ack" : ""))
      lines.append("  protocols \(part.profile.protocols.map(\.name)), quirks \(part.profile.quirks)")
      lines.append("  link \(part.link)")
      lines.append("  conduct \(part.conduct)")
    }
    lines.append("device: window \(deviceWindow), length \(deviceLength), \(policy), first session \(firstSession)")
    lines.append("  link \(deviceLink)")
    if let deviceFlicker { lines.append("  flicker \(deviceFlicker)") }
    for (number, app) in apps.enumerated() { lines.append("app \(number): \(app)") }
    for step in steps { lines.append("step \(DurationText.format(step.at)): \(WorldAction.format.text(step.action))") }
    for fault in faults { lines.append("fault at the \(fault.end): \(fault.fault)") }
    lines.append("line \(line)")
    return lines.joined(separator: "\n")
  }
}
