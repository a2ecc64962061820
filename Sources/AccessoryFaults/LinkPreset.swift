import AccessoryFormats

/// A named chain of faults that imitates a kind of link, such as `--fault bluetooth`. A preset changes only the timing,
/// and works at any address. For real Bluetooth, use the address `bt:`.
///
/// ```swift
/// let chain = try LinkPreset.faults("bluetooth-scanning")   // also accepts any fault: "loss,chance=5%"
/// ```
///
/// The rates come from field reports. Values that no report gives are estimates. The comments on the presets say which
/// values are estimates.
public struct LinkPreset: Equatable, Sendable {
  /// The preset's name in `--fault`.
  public let name: String
  /// A description for help.
  public let summary: String
  /// The faults, in the order that bytes pass through them.
  public let faults: [Fault]

  /// All link presets.
  public static let all = [bluetooth, bluetoothScanning, bluetoothHandsFree, bigWrites, usbHighSpeed]

  /// Bluetooth Classic. The rate of 7,500 bytes per second is the External Accessory throughput given in field reports.
  /// The delay of 10 to 25 ms, a few radio slots, is an estimate.
  public static let bluetooth = LinkPreset(
    name: "bluetooth", summary: "Bluetooth classic: 7,500 bytes/s in each direction, 10 to 25 ms delay",
    faults: [rate(7_500), latency(.milliseconds(10), jitter: .milliseconds(15))])

  /// Bluetooth while the app scans for Bluetooth LE: 60 to 70 % of the throughput for the first 20 seconds.
  public static let bluetoothScanning = LinkPreset(
    name: "bluetooth-scanning", summary: "`bluetooth` while the app scans for BLE: 65 % of the rate for the first 20 s",
    faults: [
      rate(4_875, for: .seconds(20)), rate(7_500, after: .seconds(20)),
      latency(.milliseconds(10), jitter: .milliseconds(15)),
    ])

  /// Bluetooth while hands-free audio shares the radio. In a field report, between 6 and 15 of the 15 frames sent each
  /// second arrived. The rate used here corresponds to 6 frames, the worst case. The delay is an estimate, and is
  /// longer than without audio because audio occupies radio slots.
  public static let bluetoothHandsFree = LinkPreset(
    name: "bluetooth-hfp",
    summary: "`bluetooth` while hands-free audio shares the radio: 40 % of the rate, 10 to 80 "
      + "ms delay",
    faults: [rate(3_000), latency(.milliseconds(10), jitter: .milliseconds(70))])

  /// Writes of more than about 2 KB become very slow. No report gives a rate for such writes, so 2,000 bytes per second
  /// is an estimate.
  public static let bigWrites = LinkPreset(
    name: "big-writes", summary: "writes above 2,048 bytes slow down to 2,000 bytes/s",
    faults: [Fault(.collapse(Fault.Collapse()))])

  /// Bulk transfers on USB 2.0 high speed: at most 13 packets of 512 bytes per 125 µs, and a delay of 125 µs.
  public static let usbHighSpeed = LinkPreset(
    name: "usb-high-speed", summary: "USB 2.0 bulk: 53,248,000 bytes/s in each direction, 125 µs delay",
    faults: [
      rate(53_248_000, capacity: 65_536), latency(.microseconds(125), jitter: .zero),
    ])

  private static func rate(
    _ bytes: Int, capacity: Int = Fault.Rate().capacity, after: Duration = .zero, for length: Duration = .zero
  ) -> Fault {
    var fault = Fault(.rate(Fault.Rate(bytes: bytes, capacity: capacity)))
    (fault.after, fault.lasting) = (after, length)
    return fault
  }

  private static func latency(_ delay: Duration, jitter: Duration) -> Fault {
    Fault(.latency(Fault.Latency(delay: delay, jitter: jitter)))
  }

  /// Parses the name of a preset or the description of a single fault. For a preset, returns the preset's faults.
  public static func faults(_ text: String) throws(SourceProblems) -> [Fault] {
    if let preset = all.first(where: { $0.name == OptionText.trimmed(text) }) { return preset.faults }
    return [try Fault.format.read(text, others: all.map(\.name))]
  }
}
