import TestSupport
import Testing

/// Tests the memory limits in docs/dev/threat-model.md with each command's largest input. The kernel enforces the
/// limits.
@Suite(.waits) struct MemoryTests {
  let place = TemporaryFolder()

  /// Runs a shell script whose programs may each use `mebibytes` MiB of writable memory. Returns how the script ended
  /// and what it printed.
  private static func run(_ script: String, within mebibytes: Int) throws -> Program.Remains {
    try Program(path: "/bin/bash", ["-c", "set -o pipefail; ulimit -d \(mebibytes * 1_024); \(script)"]).wait()
  }

  /// Whether memory can be limited. Programs built with a sanitizer need more than the limits allow.
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
    #expect(decode.err == "easim: read as raw: 0 packets, 33554432 bytes skipped\n")
  }

  @Test(.enabled(if: canBeMeasured)) func theLongestProfileIsCheckedIn48MiB() throws {
    let text = "{ version: 1, extends: 'echo' }"
    place.write(text + String(repeating: " ", count: (1 << 20) - text.utf8.count), to: "long.json5")
    let check = try Self.run("\(BuiltProducts.easim) profile check \(place.file("long.json5"))", within: 48)
    #expect(check.outLines == ["long is valid"], "\(check.err)")
  }

  // MARK: Many of something

  /// Returns the script with an accessory added, which runs at `$address` until the script ends.
  private func withAccessory(_ script: String) -> String {
    """
    easim=\(BuiltProducts.easim); address=unix:\(place.file("s"))
    exec 3< <(exec "$easim" run echo --on "$address"); accessory=$!
    until read -r line <&3 && [[ $line == *'plugged in at'* ]]; do :; done
    cat <&3 >/dev/null &
    \(script)
    code=$?
    grep VmHWM /proc/$accessory/status
    kill -INT $accessory
    exit $code
    """
  }

  @Test(.enabled(if: canBeMeasured)) func anAccessoryAndABurstOf250SessionsTake48MiBEach() throws {
    let burst = try Self.run(
      withAccessory(#""$easim" burst "$address" --sessions 250 --count 500 --json >/dev/null"#), within: 48)
    #expect(burst.ending == .exit(0), "\(burst.out)\(burst.err)")
  }

  /// The first report has another date than the others, so that easim warns of each of them. Otherwise, it would print
  /// nothing for up to a minute on a busy machine, and the test would take it for hung.
  @Test(.enabled(if: canBeMeasured)) func aThousandReportsAreMergedIn48MiB() throws {
    let merge = try Self.run(
      withAccessory(
        """
        "$easim" burst "$address" --count 20 --report \(place.file("r.json")) >/dev/null &&
          sed 's/"date":"[0-9]*/"date":"2001/' \(place.file("r.json")) >\(place.file("first.json")) &&
          "$easim" report merge \(place.file("first.json")) $(yes \(place.file("r.json")) | head -n 999)
        """), within: 48)
    #expect(merge.ending == .exit(0), "\(merge.err)")
    #expect(merge.out.contains("20,000 bursts of 10,000 bytes"), "\(merge.out)")
  }

  @Test(.enabled(if: canBeMeasured)) func aConsoleReadsLinesOfAnyLengthIn48MiB() throws {
    let console = try Self.run(
      withAccessory(#"head -c 3M /dev/zero | tr '\0' x | "$easim" console "$address""#), within: 48)
    #expect(console.ending == .exit(2), "\(console.err)")
    #expect(console.out.utf8.count < 10_000)
  }

  @Test(.enabled(if: canBeMeasured)) func aScenarioWithTheLargestPayloadIsPlayedIn48MiB() throws {
    place.write(
      """
      { version: 1, description: 'large', accessories: { a: { profile: 'echo' } }, app: { payload: 1000000 },
        steps: [{ at: '0ms', accessory: 'plugIn' }], tail: '60s', expect: [{ event: 'connect' }, { event: 'session.open' }] }
      """, to: "s.json5")
    let run = try Self.run("\(BuiltProducts.easim) scenario run \(place.file("s.json5"))", within: 48)
    #expect(run.ending == .exit(0), "\(run.out)\(run.err)")
    #expect(run.out.contains("1000000 bytes read, 1000000 written"), "\(run.out)")
  }

  @Test(.enabled(if: canBeMeasured)) func aListOf4096DevicesIsReadIn64MiB() throws {
    let server = try OddServer()
    let plug = try Program(
      path: "/bin/bash",
      ["-c", "ulimit -d \(64 * 1_024); exec \(BuiltProducts.easim) plug \(server.address) --timeout 2s"])
    // Each device has the largest possible number of interfaces.
    let kinds = [UInt8]((0..<255).flatMap { _ in [0x03, 0x01, 0x01, 0x00] as [UInt8] })
    let one = PlugCommandTests.list([0x03, 0x01, 0x01])
    var record = Array(one[12..<324])
    record[311] = 255
    let client = try server.accept()
    _ = client.receive(8)
    client.send(
      [0x01, 0x11, 0x00, 0x05, 0, 0, 0, 0, 0, 0, 0x10, 0] + [UInt8]((0..<4_096).flatMap { _ in record + kinds }))
    let remains = try plug.wait()
    #expect(remains.ending == .exit(3), "\(remains.err)")
    #expect(remains.err.contains("it is not an accessory") || remains.err.contains("no accessory"), "\(remains.err)")
  }
}
