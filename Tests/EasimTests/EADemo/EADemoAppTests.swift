import AccessoryCore
import AccessoryHost
import Testing

@testable import easim

@Suite struct EADemoAppTests {
  private var demo = EADemoTranscript()
  private let empty = EADemoTranscript.accessory(7, "Echo")
  private let echo = EADemoTranscript.accessory(8, "Echo", "com.example.echo")
  private let two = EADemoTranscript.accessory(9, "Two", "com.example.echo", "com.example.other")

  private mutating func open() {
    _ = demo.handle(.appeared(echo))
    _ = demo.type("open")
    _ = demo.handle(.opened(echo, protocolName: "com.example.echo"))
  }

  @Test mutating func nothingConnectedIsSaidWithThePlaceThatWasLookedAt() {
    #expect(demo.type("list") == ["No Accessories Connected (looked at the local directory /b)"])
    #expect(demo.type("show") == ["! no accessory 1: 0 connected"])
    #expect(demo.app.failure == .checkFailed)
  }

  @Test mutating func aFlickerIsFollowedAndAnOpenWaitsForTheProtocol() {
    #expect(demo.type("open com.example.echo") == [])
    #expect(demo.app.isBusy)
    #expect(demo.handle(.appeared(empty)) == ["connected: Echo (S7) [no protocols] connectionID 7"])
    #expect(demo.handle(.disappeared(empty)) == ["disconnected: Echo (S7) [no protocols] connectionID 7"])
    #expect(
      demo.handle(.appeared(echo)) == [
        "connected: Echo (S8) [com.example.echo] connectionID 8", "open 8 com.example.echo",
      ])
    #expect(demo.handle(.opened(echo, protocolName: "com.example.echo")) == ["session open on com.example.echo"])
    #expect(!demo.app.isBusy && demo.app.deadline == nil && demo.app.failure == nil)
  }

  @Test mutating func anOpenThatWaitsInVainSaysWhyAndHowEasimEnds() {
    _ = demo.type("open com.example.echo")
    #expect(demo.pass(.seconds(9)) == [])
    #expect(
      demo.pass(.seconds(1)) == ["! no session within 10s: No Accessories Connected (looked at the local directory /b)"]
    )
    #expect(demo.app.failure == .unreachable)
    _ = demo.handle(.appeared(empty))
    _ = demo.type("open")
    #expect(demo.pass(.seconds(10)) == ["! no session within 10s: no connected accessory offers a protocol"])
    #expect(demo.app.failure == .unreachable, "the first failure counts")
  }

  @Test mutating func whatCannotBeMeantIsSaidAtOnce() {
    _ = demo.handle(.appeared(echo))
    _ = demo.handle(.appeared(two))
    #expect(demo.type("open") == ["! several accessories offer the protocol, give a number after it: 1, 2"])
    #expect(demo.type("open com.example.echo 2") == ["open 9 com.example.echo"])
    #expect(demo.handle(.refused("the accessory is busy")) == ["! the accessory is busy"])
    #expect(demo.type("open com.example.other") == ["open 9 com.example.other"])
    #expect(demo.app.failure == .usage)
  }

  @Test mutating func aProtocolOfAnotherAccessoryIsWaitedForAndThenNamed() {
    _ = demo.handle(.appeared(echo))
    #expect(demo.type("open com.example.other") == [])
    #expect(demo.handle(.appeared(two)).last == "open 9 com.example.other")
    _ = demo.handle(.refused("busy"))
    #expect(demo.type("open com.example.ecko") == [])
    #expect(
      demo.pass(.seconds(10)) == [
        "! no session within 10s: no connected accessory offers com.example.ecko; offered: com.example.echo, "
          + "com.example.other, did you mean 'com.example.echo'?"
      ])
  }

  @Test mutating func oneAccessoryWithSeveralProtocolsAsksForOne() {
    _ = demo.handle(.appeared(two))
    #expect(demo.type("open") == ["! several protocols are offered, choose one: com.example.echo, com.example.other"])
  }

  @Test mutating func sendingIsDoneWhenAllIsSentAndCounted() {
    open()
    #expect(demo.type("string hello") == ["send 5"])
    #expect(demo.app.isBusy)
    #expect(demo.handle(.sent(2)) == [])
    #expect(demo.handle(.sent(3)) == ["sent 5 bytes"])
    #expect(demo.type("hex 01") == ["send 1"])
    #expect(demo.handle(.sent(1)) == ["sent 1 byte"])
    #expect(demo.type("10k") == ["send 10000"])
    #expect(demo.handle(.sent(10_000)) == ["sent 10000 bytes"])
    #expect(demo.handle(.received([1, 2, 3])) == [])
    #expect(demo.type("counters") == ["sent 10006 bytes, received 3 bytes"])
    #expect(demo.app.session?.received.bytes == [1, 2, 3])
  }

  @Test func onlyTheLastBytesAreKept() {
    var received = ReceivedBytes()
    let block = [UInt8](repeating: 1, count: ReceivedBytes.limit)
    for _ in 0..<3 { received.append(block) }
    received.append([2])
    #expect(received.count == 3 * ReceivedBytes.limit + 1)
    #expect(received.bytes.count <= 2 * ReceivedBytes.limit + 1 && received.bytes.last == 2)
    #expect(Array(received.from(received.count - 2)) == [1, 2])
    #expect(received.from(0).count == received.bytes.count)
  }

  @Test mutating func aWaitEndsWithTheLastByteItWants() {
    open()
    #expect(demo.type("wait 4") == [])
    #expect(demo.handle(.received([1, 2, 3])) == [])
    #expect(demo.handle(.received([4, 5])) == ["sent 0 bytes, received 5 bytes"])
    #expect(demo.type("wait 5") == ["sent 0 bytes, received 5 bytes"])
    #expect(demo.type("wait 6") == [])
    #expect(demo.pass(.seconds(10)) == ["! 6 bytes did not arrive within 10s: sent 0 bytes, received 5 bytes"])
    #expect(demo.app.failure == .timedOut)
  }

  @Test mutating func aWaitForComingAndGoing() {
    #expect(demo.type("wait disconnect") == [])
    #expect(!demo.app.isBusy, "nothing is connected")
    #expect(demo.type("wait connect") == [])
    _ = demo.handle(.appeared(empty))
    #expect(demo.app.isBusy)
    _ = demo.handle(.appeared(echo))
    #expect(!demo.app.isBusy)
    _ = demo.type("wait disconnect")
    _ = demo.handle(.disappeared(empty))
    #expect(demo.app.isBusy)
    _ = demo.handle(.disappeared(echo))
    #expect(!demo.app.isBusy)
  }

  @Test mutating func closingIsDoneWhenTheSessionIsOver() {
    open()
    #expect(demo.type("close") == ["close"])
    #expect(demo.app.isBusy)
    #expect(
      demo.handle(.ended("the device closed it")) == [
        "session on com.example.echo ended: the device closed it; sent 0 bytes, received 0 bytes"
      ])
    #expect(demo.type("close") == ["! no session is open"])
  }

  @Test mutating func closingMayInterruptASendThatHangs() {
    open()
    _ = demo.type("10k")
    #expect(demo.app.mayPerform(.close) && demo.app.mayPerform(.quit) && !demo.app.mayPerform(.list))
    #expect(demo.type("close") == ["close"])
    #expect(demo.handle(.ended("the device closed it")).count == 1)
    #expect(demo.app.failure == nil)
  }

  @Test mutating func aSendThatHangsEndsWithItsTime() {
    open()
    _ = demo.type("10k")
    _ = demo.handle(.sent(4_000))
    #expect(demo.pass(.seconds(10)) == ["! not everything was sent within 10s: sent 4000 bytes, received 0 bytes"])
    #expect(demo.app.failure == .timedOut)
  }

  @Test mutating func backgroundAndForegroundAreSaidOnce() {
    #expect(demo.type("foreground") == [])
    #expect(demo.type("background") == ["in the background", "move to background"])
    #expect(demo.type("background") == [])
    #expect(demo.type("foreground") == ["in the foreground", "move to foreground"])
  }

  @Test mutating func theDetailsOfAnAccessoryCannotSteerTheTerminal() {
    _ = demo.handle(.appeared(EADemoTranscript.accessory(3, "E\u{1B}[2Jvil", "com.example.e")))
    #expect(demo.type("list") == ["1  E\\u{1b}[2Jvil (S3) [com.example.e] connectionID 3"])
    #expect(demo.type("show").first == "name: E\\u{1b}[2Jvil")
    #expect(demo.type("show").last == "protocol: com.example.e")
  }
}
