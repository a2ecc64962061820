import AccessoryCore
import AccessorySessions
import IAP2

/// What happened to one accessory, counted.
struct AccessoryTally {
  var attachments = 0
  var sessions = 0
  var bytesIn = 0
  var bytesOut = 0
  var errors = 0

  mutating func count(_ event: TimelineEvent) {
    guard event.side == .accessory || event.side == .device else { return }
    switch event.kind {
    case .attach where event.side == .accessory: attachments += 1
    case .sessionClose(_, _, _, let read, let written) where event.side == .accessory:
      sessions += 1
      bytesIn += read
      bytesOut += written
    case .warning, .refused: errors += 1
    default: break
    }
  }
}

extension ControlServer {
  /// The state of everything in the text format of Prometheus.
  public var metrics: String {
    var text = ""
    func family(_ name: String, _ type: String, _ help: String, _ samples: [(labels: String, value: Int)]) {
      text += "# HELP \(name) \(help)\n# TYPE \(name) \(type)\n"
      for sample in samples { text += "\(name)\(sample.labels) \(sample.value)\n" }
    }
    let known = accessories.all
    func each(_ value: (ControlledAccessory) -> Int) -> [(labels: String, value: Int)] {
      known.map { (Self.labels([("accessory", $0.id), ("serial", $0.profile.identity.serialNumber)]), value($0)) }
    }
    family("easim_clients", "gauge", "Clients that are connected.", [("", clients.count)])
    family("easim_apps", "gauge", "Apps that run.", [("", apps.count)])
    family("easim_accessory_attached", "gauge", "Whether the accessory is plugged in.", each { $0.isPlugged ? 1 : 0 })
    family(
      "easim_accessory_attachments_total", "counter", "How often the accessory was plugged in.",
      each(\.tally.attachments))
    family(
      "easim_accessory_sessions_total", "counter", "Sessions of the accessory that have ended.", each(\.tally.sessions))
    family(
      "easim_accessory_errors_total", "counter", "Warnings and refusals about the accessory.", each(\.tally.errors))
    family(
      "easim_accessory_received_bytes_total", "counter", "Bytes that the accessory read in sessions that have ended.",
      each(\.tally.bytesIn))
    family(
      "easim_accessory_sent_bytes_total", "counter", "Bytes that the accessory wrote in sessions that have ended.",
      each(\.tally.bytesOut))
    family(
      "easim_link_retransmissions_total", "counter", "Packets that the device of the world has sent again.",
      worlds.all.map { (Self.labels([("world", $0.id)]), Int($0.world.device.linkCounters.retransmissions)) })
    family(
      "easim_events_total", "counter", "Notices of the world.",
      worlds.all.map { (Self.labels([("world", $0.id)]), $0.lastNumber) })
    func bursts(_ name: String, _ help: String, _ value: (BurstTallies.Tally) -> Int) {
      let all = self.bursts.tallies.sorted { $0.key < $1.key }
      family(name, "counter", help, all.map { (Self.labels([("serial", $0.key)]), value($0.value)) })
    }
    bursts("easim_bursts_total", "Bursts of load tests that are over, by accessory.") { $0.bursts }
    bursts("easim_burst_bytes_total", "Bytes of these bursts.") { $0.bytes }
    bursts("easim_burst_errors_total", "What went wrong in these load tests.") { $0.errors }
    return text + burstLatencies
  }

  private var burstLatencies: String {
    let name = "easim_burst_latency_seconds"
    var text = "# HELP \(name) Time from the start of a burst until it was complete.\n# TYPE \(name) histogram\n"
    for (serial, tally) in bursts.tallies.sorted(by: { $0.key < $1.key }) {
      let steps = tally.latency.steps
      for bound in BurstTallies.bounds {
        let count = steps.reduce(0) { Double($1.highest) <= bound * 1e9 ? $0 + $1.count : $0 }
        text += "\(name)_bucket\(Self.labels([("serial", serial), ("le", "\(bound)")])) \(count)\n"
      }
      let label = Self.labels([("serial", serial)])
      text += "\(name)_bucket\(Self.labels([("serial", serial), ("le", "+Inf")])) \(tally.latency.total)\n"
      text += "\(name)_sum\(label) \(tally.latency.mean * Double(tally.latency.total) / 1e9)\n"
      text += "\(name)_count\(label) \(tally.latency.total)\n"
    }
    return text
  }

  /// Values with their quotation marks, backslashes and line breaks escaped.
  private static func labels(_ pairs: [(String, String)]) -> String {
    let escaped = pairs.map { name, value in
      "\(name)=\"\(value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n"))\""
    }
    return "{\(escaped.joined(separator: ","))}"
  }
}
