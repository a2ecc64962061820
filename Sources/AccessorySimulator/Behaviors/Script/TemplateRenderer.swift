import AccessoryCore
import AccessoryProfiles

/// Renders an answer from its template.
///
/// Values are inserted first, then lengths, then checksums, each from left to right. A checksum can therefore cover a
/// length or another checksum.
struct TemplateRenderer {
  var request: [UInt8] = []
  var groups: [Range<Int>?] = []
  var names: [String: Int] = [:]

  /// A length or a checksum. Lengths and checksums are filled in after everything else.
  private struct Gap {
    var part: ScriptTemplate.Part
    var place: Range<Int>
  }

  /// Returns the bytes of an answer to be sent at `time`. A number that is too large for its field loses its leading
  /// digits and is added to `unfit`.
  func render(
    _ template: ScriptTemplate, at time: Instant, _ memory: inout ScriptMemory, unfit: inout [Int]
  ) -> [UInt8] {
    var bytes: [UInt8] = []
    var gaps: [Gap] = []
    var (begin, end): (Int, Int?) = (0, nil)
    for part in template.parts {
      switch part {
      case .bytes(let plain): bytes += plain
      case .group(let number): bytes += group(number)
      case .namedGroup(let name): bytes += names[name].map(group) ?? []
      case .counter(let name, let counts, let form):
        bytes += Self.bytes(memory.counter(name, counts: counts), form, &unfit)
      case .random(let range, let form):
        bytes += Self.bytes(Int.random(in: range, using: &memory.random), form, &unfit)
      case .time(let format): bytes += TemplateTime(at: time, epoch: memory.epoch).text(format).utf8
      case .unixTime(let form): bytes += Self.bytes(TemplateTime(at: time, epoch: memory.epoch).seconds, form, &unfit)
      case .state: bytes += Array((memory.state ?? "").utf8)
      case .begin: begin = bytes.count
      case .end: end = bytes.count
      case .length(let form), .checksum(_, let form):
        let width = form.width ?? 0
        gaps.append(Gap(part: part, place: bytes.count..<bytes.count + width))
        bytes += [UInt8](repeating: 0, count: width)
      }
    }
    for gap in gaps {
      guard case .length(let form) = gap.part else { continue }
      fill(&bytes, gap.place, (end ?? bytes.count) - begin, form, &unfit)
    }
    for gap in gaps {
      guard case .checksum(let checksum, let form) = gap.part else { continue }
      let covered = bytes[min(begin, end ?? gap.place.lowerBound)..<(end ?? max(begin, gap.place.lowerBound))]
      fill(&bytes, gap.place, Int(checksum.value(of: covered)), form, &unfit)
    }
    return bytes
  }

  private func fill(
    _ bytes: inout [UInt8], _ place: Range<Int>, _ number: Int, _ form: ScriptTemplate.NumberForm, _ unfit: inout [Int]
  ) {
    let digits = Self.bytes(number, form, &unfit)
    if digits.count > place.count { unfit.append(number) }
    bytes.replaceSubrange(place, with: digits.suffix(place.count))
  }

  private func group(_ number: Int) -> ArraySlice<UInt8> {
    if groups.isEmpty, number == 0 { return request[...] }
    return groups.indices.contains(number) ? groups[number].map { request[$0] } ?? [] : []
  }

  private static func bytes(_ number: Int, _ form: ScriptTemplate.NumberForm, _ unfit: inout [Int]) -> [UInt8] {
    switch form {
    case .binary(let width, let isLittle):
      if number >> (width * 8) != 0 { unfit.append(number) }
      return Script.Frame.bytes(UInt32(truncatingIfNeeded: number), width, isLittle ? .little : .big)
    case .digits(let count, let radix, let isUppercase):
      let text = String(number, radix: radix, uppercase: isUppercase)
      return [UInt8](repeating: UInt8(ascii: "0"), count: max(0, count - text.utf8.count)) + text.utf8
    }
  }
}

/// A time of day in UTC, in one of the formats that strftime defines.
struct TemplateTime {
  let seconds: Int
  private let milliseconds: Int

  init(at time: Instant, epoch: UInt64) {
    seconds = Int(clamping: epoch) &+ Int(time.nanoseconds / 1_000_000_000)
    milliseconds = Int(time.nanoseconds / 1_000_000 % 1_000)
  }

  func text(_ format: String) -> String {
    let time = CalendarTime(secondsSince1970: seconds)
    var text = ""
    var letters = format.makeIterator()
    while let letter = letters.next() {
      guard letter == "%", let code = letters.next() else {
        text.append(letter)
        continue
      }
      switch code {
      case "Y": text += "\(time.year)".zeroPadded(to: 4)
      case "y": text += "\(time.year % 100)".zeroPadded(to: 2)
      case "m": text += "\(time.month)".zeroPadded(to: 2)
      case "d": text += "\(time.day)".zeroPadded(to: 2)
      case "H": text += "\(time.hour)".zeroPadded(to: 2)
      case "M": text += "\(time.minute)".zeroPadded(to: 2)
      case "S": text += "\(time.second)".zeroPadded(to: 2)
      case "L": text += "\(milliseconds)".zeroPadded(to: 3)
      case "s": text += "\(seconds)"
      default: text.append(code)
      }
    }
    return text
  }
}
