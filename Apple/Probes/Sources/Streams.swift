import ExternalAccessory
import Foundation

/// T1 to T5, T16, T17, T22 to T25: delegates, schedules, and events. Use an accessory that sends bytes by itself.
func probeStreams() {
  guard let session = openSession(for: "T3: each stream, events in order"), let input = session.inputStream else {
    return
  }
  log("T22: the same object each time: \(session.inputStream === session.inputStream)")
  later(5) {
    input.delegate = nil
    log("T23: after nil its delegate is itself: \(input.delegate === input)")
    input.delegate = ProbeLog.shared.kept.compactMap { $0 as? Listener }.first
    input.remove(from: .main, forMode: .default)
    log("T2: unscheduled: there must be no events for five seconds; T5: polled: \(input.hasBytesAvailable)")
  }
  later(10) {
    input.schedule(in: .main, forMode: .default)
    log("T2: scheduled again")
  }
}

/// T6, T7, T8, T18 to T21: how many bytes a write accepts. To observe T18, use an accessory that does not read.
func probeWrites() {
  guard let session = openSession(for: "T6: events of the output stream"), let output = session.outputStream else {
    return
  }
  later(2) {
    for size in [1, 997, 1000, 4096, 10_000, 65_536, 200_000] {
      let bytes = [UInt8](repeating: 0x54, count: size)
      log("T7: asked for \(size): took \(output.write(bytes, maxLength: size)), room left: \(output.hasSpaceAvailable)")
    }
    log("T8: without room: \(output.write([1], maxLength: 1)), status \(output.streamStatus.rawValue)")
  }
}

/// T9 to T15: how streams end. Unplug when the log says so.
func probeEnds() {
  observe()
  manager.registerForLocalNotifications()
  guard let session = openSession(for: "T12: the order of ends and the notification; pull in 5 seconds"),
    let output = session.outputStream, let input = session.inputStream
  else { return }
  for second in stride(from: 0.0, to: 30, by: 0.25) {
    later(second) {
      let count = output.write([0x54], maxLength: 1)
      if count != 1 { log("T9: write \(count), error \(output.streamError.map { "\($0)" } ?? "none")") }
    }
  }
  later(31) {
    var buffer = [UInt8](repeating: 0, count: 16)
    log("T13: read after the end: \(input.read(&buffer, maxLength: 16))")
    input.close()
    output.close()
    log("T14: closed: \(input.streamStatus.rawValue); no event may follow")
  }
}
