import AccessoryFaults
import AccessoryFormats
import AccessoryLoad
import AccessoryProfiles
import TestSupport
import Testing

@testable import AccessorySoak
@testable import AccessoryWorlds

/// Compares the errors that easim reports for invalid files, options and command lines with the committed texts in
/// `Golden`.
///
/// `EASIM_REWRITE=1 Scripts/test -- --filter ErrorTextTests` rewrites the committed texts. The diff then shows what has
/// changed.
@Suite(.waits) struct ErrorTextTests {
  private static let folder = "Tests/EasimTests/ErrorTexts"

  private func check(_ name: String, _ entries: [(input: String, output: String)]) throws {
    let text = entries.map { "\($0.input)\n\($0.output.split(separator: "\n").map { "  \($0)\n" }.joined())" }.joined()
    #expect(entries.count > 20)
    let difference = try CommittedText.difference("\(Self.folder)/Golden/\(name).txt", from: text)
    #expect(difference == nil, "\(difference ?? "")")
  }

  private func variants(_ document: String, _ read: ([UInt8]) -> [String]) throws -> [(String, String)] {
    let tree = try JSON5.read(try Repository.text("\(Self.folder)/Documents/\(document).json5"), file: document)
    return try ([("unchanged", tree)] + Mutations(of: tree).variants.map { ($0.name, $0.tree) }).map { name, tree in
      let bytes = Array(JSON5Writer.write(tree).utf8)
      let complaints = read(bytes)
      try #require(name != "unchanged" || complaints.isEmpty, "\(complaints)")
      return (name, complaints.isEmpty ? "accepted" : complaints.joined(separator: "\n"))
    }
  }

  private func profile(_ bytes: [UInt8]) -> [String] {
    do {
      return try ProfileLibrary().template(text: bytes, file: "f", name: "f").warnings.map(\.description)
    } catch {
      return error.problems.map(\.description)
    }
  }

  private func scenario(_ bytes: [UInt8]) -> [String] {
    do {
      _ = try ScenarioFile(ScenarioSource(name: "f", path: "f", bytes: bytes), profiles: ProfileLibrary())
      return []
    } catch {
      return error.problems.map(\.description)
    }
  }

  private func loadPlan(_ bytes: [UInt8]) -> [String] {
    do {
      _ = try BurstPlanFile(bytes, file: "f")
      return []
    } catch {
      return error.problems.map(\.description)
    }
  }

  @Test(arguments: ["load-plan", "load-plan-script"]) func loadPlans(document: String) throws {
    try check(document, try variants(document, loadPlan))
  }

  @Test(arguments: ["profile", "behaviors", "scripts"]) func profiles(document: String) throws {
    try check(document, try variants(document, profile))
  }

  @Test(arguments: ["scenario", "scenario-with-apps"]) func scenarios(document: String) throws {
    try check(document, try variants(document, scenario))
  }

  /// Files that are not JSON5, and documents that are not objects.
  @Test func syntax() throws {
    let texts = [
      "", "\n", "// only a comment", "[]", "5", "null", "{", "}", "{}}", "{a}", "{a:}", "{a:1", "{a:1 b:2}", "{,}",
      "[1",
      "[1 2]", "{'a:1}", "{a:'x}", "{a:'x\ny'}", "{a:'\\x1'}", "{a:'\\u12'}", "{a:'\\ud800'}", "{a:'\\1'}",
      "{a:'\\08'}",
      "{a:1x}", "{a:01}", "{a:0x}", "{a:1e}", "{a:--1}", "{a:.}", "{a:yes}", "{a:undefined}", "{a:1,,b:2}", "{5:1}",
      "{a-b:1}", "/* no end", "/ 5", "{a: @}", "{\\u0041b\\:1}", "{\\u0020:1}", "\u{FEFF}{a:5",
      String(repeating: "[", count: 65), "{a: 'x' // comment", "{version: 1}\n{version: 1}",
    ]
    try check("syntax", texts.map { ($0.replacing("\n", with: "␊"), profile(Array($0.utf8)).joined(separator: "\n")) })
  }

  @Test func quirks() throws {
    let sound = [
      "flicker,maker=device,cycles=2,empty=1s,gap=1s,jitter=1ms,auth=never", "authentication,answer=slow,delay=1s",
      "identification,answer=never,delay=1s", "session,answer=close,delay=1s,times=2", "no-status",
      "stale-bytes,count=5", "ends-sessions,min=1s,max=5s,episode=1m,calm=1m,seed=5",
      "wedges-after,opens=5,within=5s,rest=5s", "goes-silent,after=5s,restart=5s,later=5s,jitter=5s,rest=5s,seed=5",
      "busy-after-cancel,touch=5s,busy=5s,reply=none", "phantom-session,within=5s,ends=5s,rest=5s,seed=5",
      "drops-beyond,bytes=5,rate=5", "reply-chunking,pieces=split,gap=5ms,size=5,seed=5",
      "obeys-first-settings-only,prefix=SET,end=lf,pause=5s",
      "fails-after-first-transaction,transactions=5,answer=close,pause=5s",
    ]
    try check("quirks", texts(sound) { try Quirk($0) })
  }

  @Test func behaviors() throws {
    let sound = ["echo", "sink,check=true", "source,rate=5,chunk=5,text=a,total=5", "source,pattern=random"]
    let others = [
      "exec:", "exec", "script", "script,rules=x", "exec,command=a", "source,text=a,pattern=random", "source,check",
    ]
    try check("behavior-texts", texts(sound, others) { try Behavior($0) })
  }

  @Test func faults() throws {
    let sound = [
      "latency,delay=1s,jitter=1s,capacity=5,direction=in,after=1s,for=1s", "rate,bytes=5,capacity=5",
      "split,size=5,gap=1s,capacity=5", "glue,size=5,wait=1s", "stall,capacity=5", "half-dead,direction=in",
      "cut,bytes=5,packets=5", "slow-reader,bytes=5,every=1s", "collapse,above=5,rate=5,capacity=5",
      "stale,kind=noise,bytes=5", "loss,chance=5%,kind=data,burst=5", "duplicate,copies=5", "reorder,by=5,wait=1s",
      "corrupt,part=header,sum=right",
    ]
    let others = [
      "bluetoth", "big-writes,size=5", "loss,chance=150%", "loss,chance=0.00001%", "loss,chance=.5", "half-dead,both",
    ]
    try check("faults", texts(sound, others) { try LinkPreset.faults($0) })
  }

  private func texts<Value>(
    _ sound: [String], _ others: [String] = [], _ read: (String) throws -> Value
  ) throws -> [(String, String)] {
    for text in sound { _ = try read(text) }
    return (["", ",", "wobble"] + sound.flatMap(Mutations.texts) + others).map { text in
      do {
        _ = try read(text)
        return (text, "accepted")
      } catch {
        return (text, "\(error)")
      }
    }
  }

  /// The command lines come from the golden file, where each is preceded by `$ `.
  @Test func commandLines() throws {
    let golden = "\(Self.folder)/Golden/command-lines.txt"
    let lines = try Repository.text(golden).split(separator: "\n").filter { $0.hasPrefix("$ ") }
    try check("command-lines", lines.map { ("\($0)", try output(of: $0.dropFirst("$ easim".count))) })
  }

  /// Returns the command's stderr and stdout, and also its exit code if that is not 2. A word in single quotes may
  /// contain spaces.
  private func output(of line: Substring) throws -> String {
    let parts = line.split(separator: "'", omittingEmptySubsequences: false)
    let words = parts.enumerated().flatMap { index, part in
      index % 2 == 1 ? [String(part)] : part.split(separator: " ").map(String.init)
    }
    let end = try Program.run(words)
    return end.err + end.out + (end.ending == .exit(2) ? "" : end.ending.line)
  }
}
