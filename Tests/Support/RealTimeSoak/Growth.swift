import AccessoryCore
import Glibc
import LinuxIO

struct Holding: Equatable {
  var memory: Int
  var descriptors: Int

  init(memory: Int, descriptors: Int) {
    self.memory = memory
    self.descriptors = descriptors
  }

  init?(of pid: pid_t) {
    let fields = SmallFile.read("/proc/\(pid)/statm")?.split(separator: UInt8(ascii: " ")) ?? []
    guard fields.count > 1, let pages = Int(String(decoding: fields[1], as: UTF8.self)),
      let open = Folder.names(in: "/proc/\(pid)/fd")
    else { return nil }
    self.init(memory: pages * sysconf(Int32(_SC_PAGESIZE)) / 1_024, descriptors: open.count)
  }
}

/// Detects whether a long-running process accumulates memory or descriptors.
///
/// The first third of the samples is ignored, because at first caches fill up and buffers grow to the size that the
/// load needs. For memory, the median of the last third is compared with the median of the middle third, so that a
/// short peak at the wrong moment does not matter. For descriptors, whose number is exact, the maxima are compared.
struct Growth: Equatable {
  /// An increase of more than this many KiB from the middle third to the last counts as growth.
  static let memoryTolerance = 768
  /// An increase of more than this many descriptors counts as growth.
  static let descriptorTolerance = 2
  /// The minimum number of samples that are needed to detect growth.
  static let fewest = 30

  private(set) var samples: [(time: Double, holding: Holding)] = []

  mutating func add(_ holding: Holding, at time: Double) {
    samples.append((time, holding))
  }

  private func third(_ number: Int) -> [Holding] {
    let size = samples.count / 3
    return samples[(number * size)..<(number == 2 ? samples.count : (number + 1) * size)].map(\.holding)
  }

  var memory: (before: Int, after: Int) { (Self.median(third(1).map(\.memory)), Self.median(third(2).map(\.memory))) }

  var descriptors: (before: Int, after: Int) {
    (third(1).map(\.descriptors).max() ?? 0, third(2).map(\.descriptors).max() ?? 0)
  }

  var slope: Double {
    let points = samples.dropFirst(samples.count / 3).map { ($0.time, Double($0.holding.memory)) }
    guard points.count > 1 else { return 0 }
    let count = Double(points.count)
    let (meanX, meanY) = (points.map(\.0).reduce(0, +) / count, points.map(\.1).reduce(0, +) / count)
    let spread = points.map { ($0.0 - meanX) * ($0.0 - meanX) }.reduce(0, +)
    if spread == 0 { return 0 }
    return points.map { ($0.0 - meanX) * ($0.1 - meanY) }.reduce(0, +) / spread * 3_600
  }

  var complaint: String? {
    guard samples.count >= Self.fewest else { return nil }
    let (memory, descriptors) = (memory, descriptors)
    if memory.after - memory.before > Self.memoryTolerance {
      return "memory grows: \(memory.before) KiB, then \(memory.after)"
    }
    if descriptors.after - descriptors.before > Self.descriptorTolerance {
      return "descriptors grow: \(descriptors.before), then \(descriptors.after)"
    }
    return nil
  }

  private static func median(_ values: [Int]) -> Int { values.isEmpty ? 0 : values.sorted()[values.count / 2] }

  static func == (left: Growth, right: Growth) -> Bool {
    left.samples.map(\.time) == right.samples.map(\.time) && left.samples.map(\.holding) == right.samples.map(\.holding)
  }
}
