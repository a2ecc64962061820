import AccessoryCaptures
import AccessoryCore
import AccessorySessions
import IAP2

/// The trace of a capture: `easim trace FILE`.
extension TraceRecorder {
  /// Adds an entry of a capture. Its mark tells who sent the bytes: if the recording machine received them, they came
  /// from the accessory.
  public func add(_ entry: CaptureEntry) {
    let (time, cable): (Instant, Int) =
      switch entry.place {
      case .packet(_, let time, let cable, _): (time, max(cable, 1))
      default: (.origin, 1)
      }
    let from: Cable.End = ["A", "RX", "IN"].contains { entry.from.hasPrefix($0) } ? .accessory : .device
    switch entry.event {
    case .packet, .spoiled, .unfinished, .detection, .iap1, .skipped:
      witness(ofCable: cable).passed(entry.bytes.span.bytes, from: from, at: time)
    case .transfer:
      let name = entry.channel?.protocolName ?? ""
      log.witness(of: "cable \(cable)", cable: cable, protocolName: name)
        .passed(entry.bytes.span.bytes, from: from, at: time)
    case .problem: add(TimelineEvent(time: time, side: .cable, kind: .warning(entry.text)))
    case .cable, .others, .note, .message: add(TimelineEvent(time: time, side: .cable, kind: .note(entry.text)))
    }
  }

  private func witness(ofCable cable: Int) -> any CableWitness {
    if let known = witnesses[cable] { return known }
    let made = log.witness(of: "cable \(cable)", cable: cable, protocolName: nil)
    witnesses[cable] = made
    return made
  }
}
