import AccessoryCore
import Glibc
import LinuxIO
import TestSupport
import Testing

@testable import AccessoryUSB

/// Runs kernel AIO on ordinary files. The transfers are started together, and the loop reports when each is complete.
@Suite(.waits) struct KernelTransfersTests {
  final class Hearer: TransferHandler {
    var ends: [String] = []
    var rounds = 0

    func transferEnded(tag: Int, isRead: Bool, _ problem: TransferProblem?, _ bytes: RawSpan) {
      let read = bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
      ends.append("\(isRead ? "read" : "write") \(tag) \(problem.map { "\($0)" } ?? read)")
    }

    func transfersReported() { rounds += 1 }
  }

  static func file(_ text: String, flags: Int32 = O_RDWR) -> Int32 {
    let folder = TemporaryFolder()
    let path = folder.write(text, to: "file")
    return withExtendedLifetime(folder) { open(path, flags | O_CLOEXEC) }
  }

  @Test func readsAndWritesEndOnTheLoopWithTheirTags() throws {
    let loop = try EpollLoop()
    let (incoming, outgoing) = (Self.file(""), Self.file("hello"))
    defer {
      close(incoming)
      close(outgoing)
    }
    let hearer = Hearer()
    let transfers = try KernelTransfers(incoming: incoming, outgoing: outgoing, on: loop)
    defer { transfers.close() }
    transfers.handler = hearer
    var told = 0
    transfers.willReport = { told += 1 }
    #expect(transfers.read(3, size: 64, tag: 7) == .success(3))
    #expect(transfers.write([0x61, 0x62], tag: 8) == .success(true))
    #expect(hearer.ends == [], "ends come in a later turn")
    #expect(loop.run(until: { hearer.ends.count == 4 }, limit: .seconds(60)))
    #expect(hearer.ends.sorted() == ["read 7 hello", "read 7 hello", "read 7 hello", "write 8 "])
    #expect(hearer.rounds > 0 && told >= hearer.rounds)
    var bytes = [UInt8](repeating: 0, count: 8)
    #expect(pread(incoming, &bytes, 8, 0) == 2)
    #expect(bytes.prefix(2) == [0x61, 0x62])
  }

  @Test func noMoreAreBegunThanThereIsRoomForUntilSomeHaveEnded() throws {
    let loop = try EpollLoop()
    let file = Self.file("x")
    defer { close(file) }
    let hearer = Hearer()
    let transfers = try KernelTransfers(incoming: file, outgoing: file, on: loop)
    defer { transfers.close() }
    transfers.handler = hearer
    let most = KernelTransfers.mostReads
    #expect(transfers.read(most + 10, size: 1, tag: 1) == .success(most))
    #expect(transfers.read(1, size: 1, tag: 1) == .success(0))
    for _ in 0..<KernelTransfers.mostWrites { #expect(transfers.write([1], tag: 2) == .success(true)) }
    #expect(transfers.write([1], tag: 2) == .success(false))
    #expect(loop.run(until: { hearer.ends.count == most + KernelTransfers.mostWrites }, limit: .seconds(60)))
    #expect(transfers.read(1, size: 1, tag: 3) == .success(1))
  }

  @Test func whatTheKernelRefusesIsAProblemWithItsNumber() throws {
    let loop = try EpollLoop()
    let file = Self.file("x", flags: O_WRONLY)
    defer { close(file) }
    let transfers = try KernelTransfers(incoming: file, outgoing: file, on: loop)
    #expect(transfers.read(1, size: 1, tag: 1) == .failure(.failed(EBADF)))
    transfers.close()
    #expect(transfers.read(1, size: 1, tag: 1) == .failure(.away), "after its end nothing is begun")
    transfers.cancelAll()
  }
}
