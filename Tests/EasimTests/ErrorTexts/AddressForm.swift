/// A documented form of an address: its syntax, and its meaning for each role.
struct AddressForm: Equatable, Sendable {
  /// The syntax, with placeholders in capitals.
  let written: String
  /// A valid example.
  let example: String
  /// What a host connects to when it uses this form, or nil if hosts cannot use the form.
  let host: String?
  /// Where a simulated accessory with this form of address appears, or nil if only hosts use the form.
  let simulator: String?

  private init(_ written: String, _ example: String, host: String?, simulator: String?) {
    (self.written, self.example, self.host, self.simulator) = (written, example, host, simulator)
  }

  /// All forms of addresses, grouped by kind.
  static let all: [AddressForm] = [
    AddressForm("local:", "local:", host: "every local accessory", simulator: "is plugged in locally"),
    AddressForm("local:SERIAL", "local:EW1-0001", host: "the accessory with this serial number", simulator: nil),
    AddressForm(
      "local:DIR#", "local:/tmp/local#", host: "every local accessory in this directory",
      simulator: "is plugged in there"),
    AddressForm(
      "local:DIR#SERIAL", "local:/tmp/local#EW1-0001", host: "the accessory with this serial number there",
      simulator: nil),
    AddressForm(
      "unix:PATH", "unix:/tmp/lamp.sock", host: "the unix socket", simulator: "listens on the unix socket"),
    AddressForm("tcp:HOST:PORT", "tcp:127.0.0.1:7000", host: "the TCP port", simulator: "listens on the TCP port"),
    AddressForm(
      "tcp:[IPV6]:PORT", "tcp:[::1]:7000", host: "a TCP port at an IPv6 address",
      simulator: "listens on a TCP port at an IPv6 address"),
    AddressForm(
      "pty:PATH", "pty:/tmp/lamp-tty", host: "the terminal, opened raw",
      simulator: "creates a pseudo terminal and a link to it at PATH"),
    AddressForm(
      "serial:PATH", "serial:/dev/ttyUSB0", host: "the serial line, opened raw",
      simulator: "uses the serial line"),
    AddressForm(
      "serial:PATH,BAUD", "serial:/dev/ttyUSB0,115200", host: "the serial line at this speed",
      simulator: "uses the serial line at this speed"),
    AddressForm("usb:", "usb:", host: "every accessory on USB", simulator: nil),
    AddressForm("usb:VID:PID", "usb:1209:0001", host: "accessories with these ids, in hex", simulator: nil),
    AddressForm(
      "usb:serial=S", "usb:serial=EW1-0001", host: "the accessory with this serial string", simulator: nil),
    AddressForm("usb:BUS-PORT", "usb:1-2.4", host: "the accessory at this port", simulator: nil),
    AddressForm(
      "usbip:HOST:PORT", "usbip:127.0.0.1:3240", host: nil,
      simulator: "appears as a USB device that 'easim plug' attaches to a kernel"),
    AddressForm("gadget:", "gadget:", host: nil, simulator: "appears on this machine's USB device port"),
    AddressForm(
      "gadget:UDC", "gadget:fe980000.usb", host: nil, simulator: "appears on the USB device port with this name"),
    AddressForm(
      "bt:", "bt:", host: "every paired accessory on Bluetooth",
      simulator: "acts as a Bluetooth device on the first adapter"),
    AddressForm(
      "bt:ADAPTER", "bt:hci1", host: "every accessory paired with this adapter",
      simulator: "acts as a Bluetooth device on this adapter"),
    AddressForm(
      "bt:AA:BB:CC:DD:EE:FF", "bt:AA:BB:CC:DD:EE:FF", host: "the Bluetooth device with this address", simulator: nil
    ),
    AddressForm(
      "bt:ADAPTER#AA:BB:CC:DD:EE:FF", "bt:hci1#AA:BB:CC:DD:EE:FF",
      host: "the Bluetooth device with this address, through this adapter",
      simulator: nil),
    AddressForm(
      "bt:ADAPTER,dial=AA:BB:CC:DD:EE:FF", "bt:hci1,dial=AA:BB:CC:DD:EE:FF", host: nil,
      simulator: "connects to this paired host instead of waiting for one"),
  ]

  /// A Markdown table of all forms.
  static var table: String {
    let rows = all.map { form in
      "| `\(form.written)` | `\(form.example)` | \(form.host ?? "–") | \(form.simulator ?? "–") |\n"
    }
    return "| form | example | a host connects to | a simulated accessory |\n|---|---|---|---|\n" + rows.joined()
  }
}
