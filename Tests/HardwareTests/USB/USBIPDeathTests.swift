import AccessoryCore
import ChannelSuite
import LinuxIO
import TestSupport
import Testing

@testable import AccessoryUSB

/// Checks that the server notices a client's death in any state. The accessory must lose its cable, and the next client
/// must get the device.
@Suite(.waits) struct USBIPDeathTests {
  enum Leaving: String, CaseIterable {
    case idle
    case unread
    case unreadAnswers
    /// The client has not read any answers, so the server no longer reads the client's requests.
    case unreadRequests
  }

  struct Example: CustomStringConvertible, Sendable {
    let family: DescriptorEnd.Family
    let leaving: Leaving
    let isAccessoryPaused: Bool
    let death: Death

    var description: String {
      "\(family): \(death.rawValue), \(leaving.rawValue)\(isAccessoryPaused ? ", accessory paused" : "")"
    }
  }

  static let examples: [Example] = [DescriptorEnd.Family.unix, .tcp].flatMap { family in
    Leaving.allCases.flatMap { leaving in
      [false, true].flatMap { isPaused in
        ([.close, .kill, .halfClose] + (family == .unix ? [] : [.reset])).compactMap { (death: Death) in
          // A client that has closed only its sending direction may still read the answers.
          if leaving == .unreadRequests, death == .halfClose { return nil }
          return Example(family: family, leaving: leaving, isAccessoryPaused: isPaused, death: death)
        }
      }
    }
  }

  static let hangLimit = Duration.seconds(30)

  let loop: EpollLoop
  let server: USBIPServer
  let export: USBIPExport

  init() throws {
    let loop = try EpollLoop()
    self.loop = loop
    server = USBIPServer(on: loop) { Issue.record("a complaint: \($0)") }
    export = server.makeExport(USBAccessoryShape(manufacturer: "Lawaken", name: "Glasses", serial: "A1"))
  }

  @Test(arguments: examples) func theDeathIsNoticedAndTheDeviceIsFree(example: Example) throws {
    var accessory: AccessoryEnd?
    export.plugIn { accessory = AccessoryEnd($0.main) }
    let client = try importing(example.family)
    // The client's first bulk transfer starts the cable.
    client.send(USBIPBytes.submit(2, incoming: true, endpoint: 1, length: 16_384))
    try run("the cable begins") { accessory != nil }
    let end = try #require(accessory)
    if example.isAccessoryPaused { end.channel.pauseReading() }
    try leave(example.leaving, client, end)
    client.die(example.death)
    try run("the accessory hears of it") { end.end != nil }
    guard case .lost = end.end else {
      Issue.record("the accessory heard of '\(String(describing: end.end))'")
      return
    }
    #expect(end.send([1]) == 0)
    let next = try importing(example.family)
    try requireIdle()
    next.dispose()
    export.unplug()
    server.close()
  }

  private func leave(_ leaving: Leaving, _ client: DescriptorEnd, _ accessory: AccessoryEnd) throws {
    switch leaving {
    case .idle: break
    case .unread:
      for sequence in UInt32(10)..<14 {
        client.send(
          USBIPBytes.submit(sequence, incoming: false, endpoint: 2, length: 500, data: Array(repeating: 1, count: 500)))
      }
    case .unreadAnswers:
      var sequence = UInt32(10)
      while accessory.send([UInt8](repeating: 5, count: 16_384)) > 0 {
        client.send(USBIPBytes.submit(sequence, incoming: true, endpoint: 1, length: 16_384))
        sequence += 1
        _ = loop.run(until: { false }, limit: .milliseconds(1))
      }
    case .unreadRequests:
      // Each answer is longer than its request.
      var flood: [UInt8] = []
      for sequence in UInt32(10)..<1_010 { flood += USBIPBytes.control(sequence, [0x80, 6, 0, 2, 0, 0, 255, 0]) }
      var (sent, isStuck) = (0, false)
      while !isStuck {
        let taken = client.sendSome(Array(flood[(sent % flood.count)...]))
        sent += taken
        isStuck = taken == 0
        try requireIdle()
      }
      #expect(sent > flood.count)
    }
    try requireIdle()
  }

  private func importing(_ family: DescriptorEnd.Family) throws -> DescriptorEnd {
    let pair = try DescriptorEnd.pair(family)
    server.accept(DescriptorChannel(taking: pair.nonBlocking, as: .socket, on: loop), from: "the test")
    pair.other.send(USBIPBytes.importRequest("1-1"))
    var answer: [UInt8] = []
    try run("the server answers") {
      answer += pair.other.receive(320 - answer.count)
      return answer.count == 320
    }
    #expect(Array(answer.prefix(8)) == [0x01, 0x11, 0x00, 0x03, 0, 0, 0, 0])
    pair.other.send(USBIPBytes.control(1, [0x00, 0x09, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00]))
    return pair.other
  }

  private func run(_ what: Comment, until condition: () -> Bool) throws {
    let came = loop.run(until: condition, limit: Self.hangLimit)
    try #require(came, what)
  }

  private func requireIdle() throws {
    for _ in 0..<1_000 {
      let before = loop.turns
      _ = loop.run(until: { false }, limit: .milliseconds(2))
      if loop.turns - before <= 1 { return }
    }
    Issue.record("the loop does not sleep")
  }
}
