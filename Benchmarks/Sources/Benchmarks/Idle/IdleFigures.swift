import Glibc

extension Figure {
  static var idles: [Figure] { [1_000, 10_000].map { idleMemory($0) } + [idleWakeUps] }

  private static func idleMemory(_ connections: Int) -> Figure {
    Figure(
      name: "idle.memory.\(connections)",
      summary: "resident memory per idle connection, device's end and accessory's end together, two processes with "
        + "\(connections) connections over unix sockets, each identified and authenticated",
      unit: "bytes", floor: "none: the number itself is asked for", target: .valueAtMost(10_000)
    ) { plan in
      Measurement(try (0..<plan.pairs).map { _ in try idle(connections, seconds: 0).bytesPerConnection })
    }
  }

  private static var idleWakeUps: Figure {
    Figure(
      name: "idle.wakeups",
      summary: "turns of the devices' loop and wake-ups of the accessories' process in 10 s, 1,000 idle connections",
      unit: "wake-ups", floor: "none: the number itself is asked for", target: .valueAtMost(0)
    ) { _ in
      Measurement([Double(try idle(1_000, seconds: 10).wakeUps)])
    }
  }

  /// Measures in separate processes, whose memory has not been used for other work.
  private static func idle(_ connections: Int, seconds: Int) throws -> IdleResult {
    try DescriptorLimit.raise(to: connections + 1_000, atLeast: connections + 100)
    let other = try OtherProcess([IdlePart.devices.rawValue, String(connections), String(seconds)])
    let result = try IdleResult(from: other)
    close(other.socket)
    try other.wait()
    return result
  }
}
