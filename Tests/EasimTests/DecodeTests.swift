import Glibc
import TestSupport
import Testing

@Suite(.waits) struct DecodeTests {
  let place = TemporaryFolder()
  private let capture: [UInt8] = [
    0xFF, 0x55, 0x02, 0x00, 0xEE, 0x10, 0xFF, 0x5A, 0x00, 0x10, 0x40, 0x41, 0x01, 0x01, 0x14, 0x40, 0x40, 0x00, 0x06,
    0x1D, 0x00, 0x5D,
  ]
  private let lines = [
    "00000000  DETECT", "00000006  DATA seq=65 ack=1 session=1 1D00 StartIdentification",
  ]

  @Test func aCaptureInAFileAndItsDumpInAPipeTellTheSame() throws {
    place.write(capture, to: "capture")
    let raw = try Program.run("decode", place.file("capture"))
    #expect(raw.ending == .exit(0))
    #expect(raw.outLines == lines)
    #expect(raw.err == "easim: read as raw: 1 packet\n")
    let dump = capture.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined(separator: " ")
    let piped = try Program(
      path: "/bin/sh", ["-c", "echo '\(dump)' | \(BuiltProducts.easim) decode --as hex -"]
    ).wait()
    #expect(piped.ending == .exit(0))
    #expect(piped.outLines == lines)
  }

  @Test func damageIsExitCodeOneAndNoCaptureIsTwo() throws {
    place.write(capture.dropLast() + [0], to: "spoiled")
    let spoiled = try Program.run("decode", place.file("spoiled"))
    #expect(spoiled.ending == .exit(1))
    #expect(spoiled.err.contains("1 of them spoiled"))
    place.write("ff 55\nDear Sir,\n", to: "letter")
    let letter = try Program.run("decode", place.file("letter"))
    #expect(letter.ending == .exit(2))
    #expect(letter.err.contains("\(place.file("letter")):2:1: 'Dear' is not hex"))
    #expect(try Program.run("decode", place.file("nothing")).ending == .exit(2))
  }

  @Test func aPipeIsDecodedWhileItIsRead() throws {
    let dump = capture.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    for (first, rest) in [(#"printf '\377\125\002\000\356\020'"#, "true"), ("echo \(dump)", "echo \(dump)")] {
      try #require(mkfifo(place.file("gate"), 0o600) == 0)
      // The second part of the input is sent only after the first line of output has been printed.
      let program = try Program(
        path: "/bin/sh",
        ["-c", "{ \(first); read line < \(place.file("gate")); \(rest); } | \(BuiltProducts.easim) decode -"])
      #expect(try program.line("00000000") == lines[0])
      let gate = open(place.file("gate"), O_RDWR)
      defer { close(gate) }
      try #require(write(gate, "\n", 1) == 1)
      #expect(try program.wait().ending == .exit(0))
      unlink(place.file("gate"))
    }
  }

  @Test func withoutZlibAPackedCaptureIsAnErrorThatSaysWhatToInstall() throws {
    place.write([0x1F, 0x8B, 0x08, 0x00], to: "packed")
    place.write("", to: "libz.so.1")
    let end = try Program.run(["decode", place.file("packed")], environment: ["LD_LIBRARY_PATH": place.path])
    #expect(end.ending == .exit(1))
    #expect("\(end.out)\(end.err)".contains("apt install zlib1g"), "\(end.out)\(end.err)")
  }

  @Test func aReaderThatHasSeenEnoughEndsTheDecoding() throws {
    let program = try Program(
      path: "/bin/bash",
      [
        "-c",
        "set -o pipefail; yes 'ff 55 02 00 ee 10' | \(BuiltProducts.easim) decode - | head -1; echo ${PIPESTATUS[1]}",
      ])
    let end = try program.wait()
    #expect(end.outLines == ["00000000  DETECT", "0"])
    #expect(end.err == "")
  }
}
