import AccessoryCore
import Glibc
import LinuxIO

struct Holding {
  var memory: Int
  var descriptors: Int
}

extension Holding {
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
struct Growth {
  /// An increase of more than this many KiB from the middle third to the last counts as growth.
  static let memoryTolerance = 768
  /// An increase of more than this many descriptors counts as growth.
  static let descriptorTolerance = 2
  /// The minimum number of samples that are needed to detect growth.
  static let fewest = 30

  private(set) var samples: [Holding] = []

  mutating func add(_ holding: Holding) { samples.append(holding) }

  private func third(_ number: Int) -> ArraySlice<Holding> {
    let size = samples.count / 3
    return samples[(number * size)..<(number == 2 ? samples.count : (number + 1) * size)]
  }

  var memory: (before: Int, after: Int) { (Self.median(third(1).map(\.memory)), Self.median(third(2).map(\.memory))) }

  var descriptors: (before: Int, after: Int) {
    (third(1).map(\.descriptors).max() ?? 0, third(2).map(\.descriptors).max() ?? 0)
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
}
