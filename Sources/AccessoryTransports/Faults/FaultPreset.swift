import AccessoryCore

/// A link as it was met in the field, as a chain of faults by name: what `--fault bluetooth` says.
///
/// ```swift
/// let chain = try FaultPreset.faults("bluetooth-scanning")   // or any fault: "loss,chance=5%"
/// ```
///
/// The rates are figures that people reported; where nobody measured a delay it is ours, and says so here.
public struct FaultPreset: Equatable, Sendable {
  /// The name in `--fault`.
  public let name: String
  /// What it is like, in a sentence for help.
  public let summary: String
  /// The faults, in the order in which bytes pass them.
  public let faults: [Fault]

  /// Every link there is a name for.
  public static let all = [bluetooth, bluetoothScanning, bigWrites, usbHighSpeed]

  /// Bluetooth classic: the 7,500 bytes a second that an app wants of External Accessory in the field. The delay of 10 to
  /// 25 ms is ours: a few slots of the radio.
  public static let bluetooth = FaultPreset(
    name: "bluetooth", summary: "Bluetooth classic: 7,500 bytes a second each way, 10 to 25 ms late",
    faults: [rate(7_500), latency(.milliseconds(10), jitter: .milliseconds(15))])

  /// The same while the app scans for Bluetooth LE: 60 to 70 % of the throughput for the first 20 seconds.
  public static let bluetoothScanning = FaultPreset(
    name: "bluetooth-scanning", summary: "the same while the app scans for BLE: 65 % of it for the first 20 s",
    faults: [
      rate(4_875).setting("for", to: .duration(.seconds(20))),
      rate(7_500).setting("after", to: .duration(.seconds(20))),
      latency(.milliseconds(10), jitter: .milliseconds(15)),
    ])

  /// Writes above about 2 KB degrade sharply; to what, nobody said, so the 2,000 bytes a second are ours.
  public static let bigWrites = FaultPreset(
    name: "big-writes", summary: "writes above 2,048 bytes collapse to 2,000 bytes a second",
    faults: [Fault(.collapse).setting("above", to: .count(2_048)).setting("rate", to: .count(2_000))])

  /// USB 2.0 high speed as bulk transfers get it: at most 13 packets of 512 bytes in each eighth of a millisecond, and
  /// that long to wait for the next.
  public static let usbHighSpeed = FaultPreset(
    name: "usb-high-speed", summary: "USB 2.0 bulk: 53,248,000 bytes a second each way, 125 µs late",
    faults: [
      rate(53_248_000).setting("capacity", to: .count(65_536)), latency(.microseconds(125), jitter: .zero),
    ])

  private static func rate(_ bytes: Int) -> Fault { Fault(.rate).setting("bytes", to: .count(bytes)) }

  private static func latency(_ delay: Duration, jitter: Duration) -> Fault {
    Fault(.latency).setting("delay", to: .duration(delay)).setting("jitter", to: .duration(jitter))
  }

  /// The faults that `text` stands for: those of the preset of that name, or the one fault that it describes.
  public static func faults(_ text: String) throws(FaultTextError) -> [Fault] {
    if let preset = all.first(where: { $0.name == OptionText.trimmed(text) }) { return preset.faults }
    let name = OptionText(text).name
    if FaultDefinition.named(name) == nil {
      let names = FaultDefinition.all.map(\.name) + all.map(\.name)
      throw FaultTextError(text, "unknown fault '\(Excerpt.of(name))'\(Suggestion.hint(for: name, in: names))")
    }
    return [try Fault(text)]
  }
}
