import AccessoryCore
import AccessoryLoad
import AccessorySessions
import IAP2

/// What the server counts about an accessory.
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

  /// Each count's key, the part of its name that is specific to it in `/metrics`, and its description.
  static let all: [(key: String, metric: String, summary: String, value: @Sendable (Self) -> Int)] = [
    ("attachments", "attachments", "number of times the accessory was plugged in", { $0.attachments }),
    ("sessions", "sessions", "number of the accessory's sessions that have ended", { $0.sessions }),
    ("errors", "errors", "number of warnings and refusals that concern the accessory", { $0.errors }),
    ("bytesRead", "received_bytes", "bytes that the accessory has read in sessions that have ended", { $0.bytesIn }),
    ("bytesWritten", "sent_bytes", "bytes that the accessory has written in sessions that have ended", { $0.bytesOut }),
  ]
}

extension ControlServer {
  /// The server's state in Prometheus's text format.
  package var metrics: String {
    var metrics = MetricsText()
    func family(
      _ name: String, _ type: String, _ help: String, _ samples: [(labels: [(String, String)], value: Int)]
    ) {
      metrics.family(name, type, help, samples.map { ($0.labels, "\($0.value)") })
    }
    let known = accessories.all
    func each(_ value: (ControlledAccessory) -> Int) -> [(labels: [(String, String)], value: Int)] {
      known.map { ([("accessory", $0.id), ("serial", $0.profile.identity.serialNumber)], value($0)) }
    }
    family("easim_clients", "gauge", "Number of connected clients.", [([], clients.count)])
    family("easim_apps", "gauge", "Number of running apps.", [([], apps.count)])
    family("easim_accessory_attached", "gauge", "Whether the accessory is plugged in.", each { $0.isPlugged ? 1 : 0 })
    for count in AccessoryTally.all {
      let help = count.summary.prefix(1).uppercased() + count.summary.dropFirst() + "."
      family("easim_accessory_\(count.metric)_total", "counter", help, each { count.value($0.tally) })
    }
    family(
      "easim_link_retransmissions_total", "counter", "Packets that the world's device has retransmitted.",
      worlds.all.map { ([("world", $0.id)], Int($0.world.device.linkCounters.retransmissions)) })
    family(
      "easim_events_total", "counter", "Notices of the world.",
      worlds.all.map { ([("world", $0.id)], $0.lastNumber) })
    let tallies = bursts.tallies.sorted { $0.key < $1.key }
    func total(_ name: String, _ help: String, _ value: (BurstTallies.Tally) -> Int) {
      family(name, "counter", help, tallies.map { ([("serial", $0.key)], value($0.value)) })
    }
    total("easim_bursts_total", "Bursts of finished load tests, by accessory.") { $0.bursts }
    total("easim_burst_bytes_total", "Bytes in the bursts of finished load tests.") { $0.bytes }
    total("easim_burst_errors_total", "Errors in finished load tests.") { $0.errors }
    metrics.histogram(
      "easim_burst_latency_seconds", "Time from the start of a burst to its completion.",
      tallies.map { ([("serial", $0.key)], $0.value.latency) })
    return metrics.text
  }
}
