import TestSupport
import Testing

/// Tests `easim redact` as used in a shell. `RedactionTests` covers every kind of secret in every form.
@Suite(.waits) struct RedactTests {
  private let local = LocalPlace()
  private var place: TemporaryFolder { local.place }

  private func shell(_ line: String) throws -> Program.Remains { try local.bash("cd '\(place.path)'; \(line)") }

  @Test func aCaptureAndItsTraceLoseTheirNamesAndDecodeAsBefore() throws {
    let made = try shell("easim demo --virtual --capture a.pcapng && easim trace a.pcapng")
    #expect(made.ending == .exit(0), "\(made.err)")
    let redact = try shell("easim redact a.pcapng a.pcapng.html")
    #expect(redact.ending == .exit(0) && redact.out == "a.redacted.pcapng\na.pcapng.redacted.html\n", "\(redact.err)")
    #expect(redact.err.contains("easim: serial: 1 value at "), "\(redact.err)")
    let serial = "040025380108A000608"
    let found = try shell(
      "grep -c \(serial) a.pcapng a.pcapng.html; grep -l \(serial) a.redacted.pcapng a.pcapng.redacted.html")
    #expect(!found.out.contains(":0") && !found.out.contains("redacted"), "\(found.out)")
    let same = try shell(
      "for f in a a.redacted; do easim decode --check $f.pcapng 2>&1 | grep -v CABLE | grep -v ' \\* ' > $f.check; done; "
        + "cmp a.check a.redacted.check && stat -c %s a.pcapng a.redacted.pcapng | uniq | wc -l")
    #expect(same.ending == .exit(0) && same.out == "1\n", "\(same.out)\(same.err)")
  }

  /// The replacements in a redacted file are found like the secrets before them, and stay as they are.
  @Test func aRedactedCaptureIsRedactedToItself() throws {
    let redact = try shell(
      "easim demo --virtual --capture a.pcapng >demo && easim redact a.pcapng --out b.pcapng && "
        + "easim redact b.pcapng --out c.pcapng && cmp b.pcapng c.pcapng")
    #expect(redact.ending == .exit(0), "\(redact.err)")
  }

  @Test func aTraceOfWhatIsNoCaptureSaysSo() throws {
    let trace = try shell("printf '\\377\\001nonsense' >junk && easim trace junk")
    #expect(trace.ending == .exit(1) && trace.out == "junk.html\n", "\(trace.out)\(trace.err)")
    #expect(trace.err == "easim: junk, read as raw, has nothing to show: 0 packets, 10 bytes skipped\n")
  }

  @Test(arguments: [
    ("easim redact - < raw", "redact - needs --out PATH"), ("easim redact --out x raw raw", "--out is for one FILE"),
    ("easim redact text", "text: "),
    ("easim redact raw text", "nothing was written"),
  ]) func whatCannotBeDoneIsSaidAndNothingIsWritten(line: String, text: String) throws {
    place.write([0xFF, 0x5A, 0, 9, 0x40, 1, 0, 0, 0x5D], to: "raw")
    place.write("Anna says hello\n", to: "text")
    let end = try shell(line)
    #expect(end.ending == .exit(2) && end.err.contains(text), "\(end.err)")
    #expect(place.bytes("raw.redacted") == nil && place.bytes("x") == nil)
  }
}
