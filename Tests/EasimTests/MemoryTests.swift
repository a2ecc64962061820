import TestSupport
import Testing

/// The ceilings of docs/threat-model.md, at the largest input that a command takes. The kernel refuses what is beyond.
@Suite struct MemoryTests {
  let place = TemporaryFolder()

  /// The end of a shell script that has `mebibytes` MiB of writable memory for each of its programs.
  private static func run(_ script: String, within mebibytes: Int) throws -> Program.Remains {
    try Program(path: "/bin/bash", ["-c", "set -o pipefail; ulimit -d \(mebibytes * 1_024); \(script)"]).wait()
  }

  /// Sanitizers need more than any ceiling.
  private static let canBeMeasured =
    (try? run("\(BuiltProducts.easim) --version", within: 32).ending) == .exit(0)

  @Test(.enabled(if: canBeMeasured)) func decodeTakesACaptureOfAnySizeIn48MiB() throws {
    let packet = #"\377\125\002\000\356\020"#
    let script =
      "{ printf '\(packet)'; head -c 128M /dev/zero; printf '\(packet)'; } | \(BuiltProducts.easim) decode -"
    let decode = try Self.run(script, within: 48)
    #expect(decode.outLines == ["00000000  DETECT", "08000006  DETECT"], "\(decode.err)")
    #expect(decode.ending == .exit(0))
  }

  @Test(.enabled(if: canBeMeasured)) func garbageOfAnySizeIsDecodedIn48MiB() throws {
    let decode = try Self.run("head -c 32M /dev/zero | tr '\\0' '\\7' | \(BuiltProducts.easim) decode -", within: 48)
    #expect(decode.outLines.count == 32, "\(decode.err)")
    #expect(decode.err == "easim: raw: 0 packets, 33554432 bytes skipped\n")
  }

  @Test(.enabled(if: canBeMeasured)) func theLongestProfileIsCheckedIn48MiB() throws {
    let text = "{ version: 1, extends: 'echo' }"
    place.write(text + String(repeating: " ", count: (1 << 20) - text.utf8.count), to: "long.json5")
    let check = try Self.run("\(BuiltProducts.easim) profile check \(place.file("long.json5"))", within: 48)
    #expect(check.outLines == ["long is in order"], "\(check.err)")
  }
}
