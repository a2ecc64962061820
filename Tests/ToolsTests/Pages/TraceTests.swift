import AccessoryCables
import AccessoryCore
import AccessoryFormats
import AccessoryPages
import AccessoryProfiles
import AccessorySessions
import AccessorySoak
import AccessoryWorlds
import LinuxIO
import TestSupport
import Testing

@Suite struct TraceTests {
  private func demonstration(
    limit: Int = TraceRecorder.usualLimit, name: String = "", readsLinks: Bool = false
  ) throws -> (String, JSON5Value) {
    let trace = TraceRecorder(program: "easim tests", command: "easim demo", time: "virtual", limit: limit)
    let capture = CaptureRecorder(program: "tests") { _ in }
    trace.follow(capture)
    trace.readsLinks = readsLinks
    var settings = World.Settings()
    settings.recorder = capture
    if !readsLinks { settings.report = { trace.add($0) } }
    var profile = try ProfileLibrary().profile("lawk-view")
    if !name.isEmpty { profile.identity.name = name }
    let loop = VirtualLoop(seed: 1)
    let demonstration = try Demonstration(profile, settings: settings, on: loop)
    demonstration.start()
    _ = try loop.runUntilQuiet()
    let page = String(decoding: trace.page(TraceVerdict("passed", "all <good>")), as: UTF8.self)
    let begin = try #require(page.firstRange(of: "id=\"data\">"))
    let end = try #require(page[begin.upperBound...].firstRange(of: "</script>"))
    return (page, try JSON5.read(String(page[begin.upperBound..<end.lowerBound]), file: "trace"))
  }

  @Test func itHasTheVerdictTheEventsAndThePackets() throws {
    let (_, data) = try demonstration()
    #expect(data["verdict"]?.word == "passed")
    #expect(data["command"]?.word == "easim demo")
    #expect(data["left"]?.word == "")
    let events = data["events"].elements.compactMap { $0["event"]?.word }
    #expect(events.contains("session.open"))
    let packets = data["packets"].elements
    #expect(packets.count > 30)
    let texts = packets.compactMap { row -> String? in
      if case .array(let cells) = row.content, cells.count > 4 { cells[4].word } else { nil }
    }
    #expect(texts.contains { $0.contains("IdentificationInformation") })
  }

  /// The file is self-contained: it includes every module, and no text in it can close an HTML element early.
  @Test func itIsOneFileThatFetchesNothing() throws {
    let (page, data) = try demonstration(name: "</script><script>alert(1)</script>")
    #expect(!page.contains("import {") && !page.contains("\nexport "))
    for module in ["lanes", "packets", "model", "events"] { #expect(page.contains("const module_\(module) = ")) }
    #expect(page.contains("default-src 'none'"))
    #expect(!page.contains("<script>alert"))
    #expect(data["events"].elements.contains { $0["accessory"]?["name"]?.word == "</script><script>alert(1)</script>" })
    #expect(page.utf8.count < 1_000_000)
  }

  @Test func whatDoesNotFitIsSaid() throws {
    let (page, data) = try demonstration(limit: 10_000)
    let left = try #require(data["left"]?.word)
    #expect(left.hasPrefix("Omitted to keep this file below "))
    #expect(data["packets"].elements.count > 5)
    #expect(page.contains("left"))
  }

  /// A capture contains no events, so the trace derives them from the captured messages.
  @Test func theLinksOfPacketsAreReadFromTheirMessages() throws {
    let (page, _) = try demonstration(readsLinks: true)
    for event in ["attach", "connect", "session.open", "session.close", "disconnect", "detach"] {
      #expect(page.contains("\"event\":\"\(event)\""), "\(event)")
    }
  }
}
