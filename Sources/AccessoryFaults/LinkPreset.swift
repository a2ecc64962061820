import AccessoryFormats

/// A kind of link from the field, as a chain of faults: the value of `--fault bluetooth`. A preset only changes the
/// timing of whatever address is used; to use Bluetooth itself, use the address `bt:`.
///
/// ```swift
/// let chain = try LinkPreset.faults("bluetooth-scanning")   // or any fault: "loss,chance=5%"
/// ```
///
/// The rates were reported from the field. Delays that no report gives are our choice, as the comments below note.
public struct LinkPreset: Equatable, Sendable {
  /// The name in `--fault`.
  public let name: String
  /// A description for help.
  public let summary: String
  /// The faults, in the order in which bytes pass them.
  public let faults: [Fault]

  /// All link presets.
  public static let all = [bluetooth, bluetoothScanning, bluetoothHandsFree, bigWrites, usbHighSpeed]

  /// Bluetooth classic: 7,500 bytes a second, the throughput of External Accessory reported from the field. The delay
  /// of 10 to 25 ms is our choice: a few slots of the radio.
  public static let bluetooth = LinkPreset(
    name: "bluetooth", summary: "Bluetooth classic: 7,500 bytes/s in each direction, 10 to 25 ms delay",
    faults: [rate(7_500), latency(.milliseconds(10), jitter: .milliseconds(15))])

  /// The same while the app scans for Bluetooth LE: 60 to 70 % of the throughput for the first 20 seconds.
  public static let bluetoothScanning = LinkPreset(
    name: "bluetooth-scanning", summary: "`bluetooth` while the app scans for BLE: 65 % of the rate for the first 20 s",
    faults: [
      rate(4_875, for: .seconds(20)), rate(7_500, after: .seconds(20)),
      latency(.milliseconds(10), jitter: .milliseconds(15)),
    ])

  /// The same while hands-free audio shares the radio: of 15 frames a second, 6 to 15 arrived. The rate is that of 6,
  /// the worst case. The delay is our choice: it grows by the slots that audio takes.
  public static let bluetoothHandsFree = LinkPreset(
    name: "bluetooth-hfp",
    summary: "`bluetooth` while hands-free audio shares the radio: 40 % of the rate, 10 to 80 "
      + "ms delay",
    faults: [rate(3_000), latency(.milliseconds(10), jitter: .milliseconds(70))])

  /// Writes above about 2 KB become very slow. No report says how slow; the 2,000 bytes a second are our choice.
  public static let bigWrites = LinkPreset(
    name: "big-writes", summary: "writes above 2,048 bytes slow to 2,000 bytes/s",
    faults: [Fault(.collapse(Fault.Collapse()))])

  /// Bulk transfers on USB 2.0 high speed: at most 13 packets of 512 bytes in each 125 µs, and 125 µs until the next.
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

  /// The faults in a string: those of the preset with that name, or the one fault that it describes.
  public static func faults(_ text: String) throws(SourceProblems) -> [Fault] {
    if let preset = all.first(where: { $0.name == OptionText.trimmed(text) }) { return preset.faults }
    return [try Fault.format.read(text, others: all.map(\.name))]
  }
}
