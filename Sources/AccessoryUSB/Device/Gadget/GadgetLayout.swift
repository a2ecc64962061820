import AccessoryCore

/// What to create in configfs for a gadget: folders, files and a link, in the order that the kernel requires.
struct GadgetLayout: Equatable {
  enum Step: Equatable {
    case folder(String)
    case file(String, String)
    /// A file that older kernels do not have.
    case newerFile(String, String)
    case link(String, to: String)
  }

  let steps: [Step]

  /// The longest string that configfs accepts, in bytes.
  static let longestString = 126

  init(steps: [Step]) {
    self.steps = steps
  }

  /// The gadget of an accessory, whose one function is the FunctionFS `instance`.
  init(_ shape: USBAccessoryShape, instance: String) {
    let strings = "strings/0x409"
    let configuration = "configs/c.1"
    let function = "functions/ffs.\(instance)"
    self.init(steps: [
      .file("idVendor", Self.hex(shape.vendor)), .file("idProduct", Self.hex(shape.product)),
      .file("bcdDevice", Self.hex(shape.release)), .file("bcdUSB", "0x0200"),
      // Without it a port of 5 Gbit/s would offer a speed for which there are no descriptors.
      .newerFile("max_speed", shape.speed == .full ? "full-speed" : "high-speed"),
      .folder(strings), .file("\(strings)/manufacturer", Self.cut(shape.manufacturer)),
      .file("\(strings)/product", Self.cut(shape.name)), .file("\(strings)/serialnumber", Self.cut(shape.serial)),
      .folder(configuration), .file("\(configuration)/bmAttributes", "0xc0"), .file("\(configuration)/MaxPower", "100"),
      .folder(function), .link("\(configuration)/ffs.\(instance)", to: function),
    ])
  }

  /// The strings of the accessory that are too long.
  static func tooLong(_ shape: USBAccessoryShape) -> [String] {
    [shape.manufacturer, shape.name, shape.serial].filter { $0.utf8.count > longestString }
  }

  /// As much of a text as fits, cut between characters. A line break would end the string.
  private static func cut(_ text: String) -> String {
    var cut = ""
    var room = longestString
    for scalar in text.unicodeScalars where scalar != "\n" {
      room -= UTF8.width(scalar)
      guard room >= 0 else { break }
      cut.unicodeScalars.append(scalar)
    }
    return cut
  }

  private static func hex(_ number: UInt16) -> String {
    "0x" + Hex.number(number, uppercase: false)
  }
}
