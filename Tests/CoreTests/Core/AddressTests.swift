import AccessoryCore
import AccessoryFormats
import Testing

@Suite struct AddressTests {
  static let rightForms: [(String, Address)] = [
    ("local:", .local(directory: nil, serial: nil)),
    ("local:EAID01", .local(directory: nil, serial: "EAID01")),
    ("local:/run/b#EAID01", .local(directory: "/run/b", serial: "EAID01")),
    ("local:/run/b#", .local(directory: "/run/b", serial: nil)),
    ("local:/run/#1#EAID01", .local(directory: "/run/#1", serial: "EAID01")),
    ("local:a%23b", .local(directory: nil, serial: "a#b")),
    ("local:/run/#1#a%2Fb%23", .local(directory: "/run/#1", serial: "a/b#")),
    ("local:%%2523%2", .local(directory: nil, serial: "%%23%2")),
    ("unix:/tmp/a.sock", .unix(path: "/tmp/a.sock")),
    ("unix:./a:b.sock", .unix(path: "./a:b.sock")),
    ("tcp:localhost:7000", .tcp(host: "localhost", port: 7000)),
    ("tcp:127.0.0.1:0", .tcp(host: "127.0.0.1", port: 0)),
    ("tcp:[::1]:65535", .tcp(host: "::1", port: 65535)),
    ("tcp:[fe80::1%eth0]:1", .tcp(host: "fe80::1%eth0", port: 1)),
    ("pty:/tmp/glasses", .pty(path: "/tmp/glasses")),
    ("serial:/dev/ttyUSB0", .serial(path: "/dev/ttyUSB0", baud: nil)),
    ("serial:/dev/ttyUSB0,115200", .serial(path: "/dev/ttyUSB0", baud: 115200)),
    ("serial:/dev/a,b/tty", .serial(path: "/dev/a,b/tty", baud: nil)),
    ("usb:", .usb(.any)),
    ("usb:05ac:12a8", .usb(.product(vendor: 0x05AC, product: 0x12A8))),
    ("usb:serial=EAID=01", .usb(.serial("EAID=01"))),
    ("usb:1-2", .usb(.port(bus: 1, path: [2]))),
    ("usb:1-2.4", .usb(.port(bus: 1, path: [2, 4]))),
    ("usbip:127.0.0.1:3240", .usbip(host: "127.0.0.1", port: 3240)),
    ("gadget:", .gadget(controller: nil)),
    ("gadget:dummy_udc.0", .gadget(controller: "dummy_udc.0")),
  ]

  @Test(arguments: rightForms) func isReadAndWrittenBackTheSame(text: String, address: Address) throws {
    #expect(try Address(parsing: text) == address)
    #expect(address.description == text)
  }

  @Test func hexadecimalDigitsAreReadInEitherCase() throws {
    #expect(try Address(parsing: "usb:05AC:12A8") == Address(parsing: "usb:05ac:12a8"))
  }

  static let wrongForms: [(String, String, Int, String?)] = [
    ("", "", 0, "local:"),
    ("unx", "unx", 0, "unix:PATH"),
    ("local", "local", 0, "local:"),
    ("tcp", "tcp", 0, "tcp:HOST:PORT"),
    ("TCP:localhost:7000", "TCP", 0, "tcp:localhost:7000"),
    ("./x.sock", "./x.sock", 0, "unix:./x.sock"),
    ("/tmp/a:b.sock", "/tmp/a:b.sock", 0, "unix:/tmp/a:b.sock"),
    ("/dev/ttyACM0", "/dev/ttyACM0", 0, "serial:/dev/ttyACM0"),
    ("/dev/pts/3", "/dev/pts/3", 0, "pty:/dev/pts/3"),
    ("[::1]:7000", "[::1]:7000", 0, "tcp:[::1]:7000"),
    ("05ac:12a8", "05ac:12a8", 0, "usb:05ac:12a8"),
    ("1-2.4", "1-2.4", 0, "usb:1-2.4"),
    ("00:11:22:aa:BB:cc", "00:11:22:aa:BB:cc", 0, "bt:00:11:22:AA:BB:CC"),
    ("hci1", "hci1", 0, "bt:hci1"),
    ("bluetooth:glasses", "bluetooth", 0, nil),
    ("local:#EAID01", "", 6, "local:DIR#EAID01"),
    ("unix:~/a.sock", "~/a.sock", 5, "unix:$HOME/a.sock"),
    ("unix:a\0b", "\0", 6, nil),
    ("tcp:", "", 4, "tcp:HOST:PORT"),
    ("tcp:7000", "7000", 4, "tcp:127.0.0.1:7000"),
    ("tcp:localhost:", "", 14, "tcp:localhost:PORT"),
    ("tcp:localhost:http", "http", 14, "tcp:localhost:PORT"),
    ("tcp:localhost:65536", "65536", 14, "tcp:localhost:PORT"),
    ("tcp:localhost:+1", "+1", 14, "tcp:localhost:PORT"),
    ("tcp::7000", "", 4, "tcp:127.0.0.1:7000"),
    ("tcp:::1:7000", "::1", 4, "tcp:[::1]:7000"),
    ("tcp:[::1:7000", "[::1:7000", 4, "tcp:[::1]:PORT"),
    ("tcp:[::1]", "", 9, "tcp:[::1]:PORT"),
    ("tcp:[here]:1", "here", 5, "tcp:[::1]:PORT"),
    ("tcp:a b:1", "a b", 4, "tcp:HOST:PORT"),
    ("serial:", "", 7, "serial:PATH"),
    ("serial:/dev/ttyS0,fast", "fast", 18, "serial:/dev/ttyS0,115200"),
    ("serial:/dev/ttyS0,0", "0", 18, "serial:/dev/ttyS0,115200"),
    ("usb:5ac:12a8", "5ac", 4, "usb:05ac:12a8"),
    ("usb:05ac:0x12a8", "0x12a8", 9, "usb:05ac:12a8"),
    ("usb:apple:12a8", "apple", 4, "usb:VID:PID"),
    ("usb:05ac", "", 8, "usb:05ac:PID"),
    ("usb:05ac:", "", 9, "usb:VID:PID"),
    ("usb:serail=1", "serail", 4, "usb:serial=1"),
    ("usb:serial=", "", 11, "usb:serial=S"),
    ("usb:0-1", "0", 4, "usb:BUS-PORT"),
    ("usb:1-2..4", "", 8, "usb:1-1.2"),
    ("usb:1-1.1.1.1.1.1.1", "1.1.1.1.1.1.1", 6, "usb:1-1.2"),
    ("gadget:/sys/class/udc/dummy_udc.0", "/sys/class/udc/dummy_udc.0", 7, "gadget:dummy_udc.0"),
  ]

  @Test(arguments: wrongForms)
  func isRefusedWithTheWrongPartAndTheNearestForm(text: String, part: String, offset: Int, suggestion: String?) {
    let error = #expect(throws: AddressError.self) { try Address(parsing: text) }
    #expect(error?.part == part)
    #expect(error?.offset == offset)
    #expect(error?.suggestion == suggestion)
    // A suggestion without placeholders must itself be valid.
    if let suggestion,
      !["PATH", "HOST", "PORT", "VID", "PID", "UDC", "DIR", "=S", "BUS"].contains(where: suggestion.contains)
    {
      #expect(throws: Never.self) { try Address(parsing: suggestion) }
    }
  }

  @Test func aUnixPathMayHave107BytesAndNotOneMore() throws {
    let longest = String(repeating: "a", count: 107)
    #expect(try Address(parsing: "unix:" + longest) == .unix(path: longest))
    let error = #expect(throws: AddressError.self) { try Address(parsing: "unix:a" + longest) }
    #expect(error?.problem == "the socket path has 108 bytes; the limit is 107")
  }

  @Test func aMessageNeitherSteersATerminalNorFloodsIt() {
    let hostile = "tcp:\u{1B}[2J:1" + String(repeating: "x", count: 100_000)
    let error = #expect(throws: AddressError.self) { try Address(parsing: hostile) }
    let message = error?.description ?? ""
    #expect(message.utf8.count < 600)
    #expect(!message.unicodeScalars.contains("\u{1B}"))
  }

  /// No mutation of a valid address causes a crash. If a mutation is accepted, writing it and parsing it again gives
  /// the same address.
  @Test func anyTextIsEitherRefusedOrReadBackTheSame() throws {
    var random = SeededRandom(seed: 5)
    let alphabet = Array("abcdeftuxn01259:/#=,.-[]% ~\0é\u{301}")
    var read = 0
    for _ in 0..<3_000 {
      var text = Array(Self.rightForms[.random(in: 0..<Self.rightForms.count, using: &random)].0)
      for _ in 0..<Int.random(in: 1...3, using: &random) where !text.isEmpty {
        let place = Int.random(in: 0..<text.count, using: &random)
        switch Int.random(in: 0..<3, using: &random) {
        case 0: text.remove(at: place)
        case 1: text.insert(alphabet[.random(in: 0..<alphabet.count, using: &random)], at: place)
        default: text[place] = alphabet[.random(in: 0..<alphabet.count, using: &random)]
        }
      }
      do {
        let address = try Address(parsing: String(text))
        #expect(try Address(parsing: address.description) == address)
        read += 1
      } catch {
        #expect(error.text == String(text))
        #expect(error.offset >= 0 && error.offset + error.part.utf8.count <= error.text.utf8.count)
      }
    }
    #expect(read > 150)
  }
}
