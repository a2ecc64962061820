import ExternalAccessory
import ExternalAccessorySimulation
import Testing

@Suite struct StreamDelegateTests {
  /// A delegate that uses its stream while the delegate is being deallocated, like clients that close their streams in
  /// `deinit`.
  private final class Leaving: NSObject, StreamDelegate, @unchecked Sendable {
    private let stream: Stream
    init(_ stream: Stream) { self.stream = stream }
    deinit { stream.remove(from: .main, forMode: .default) }
    func stream(_ stream: Stream, handle event: Stream.Event) {}
  }

  /// Checking whether there is a delegate briefly retains that delegate. The retained reference may be the last
  /// reference to the delegate.
  @Test func aDelegateMayGoOnAnyThreadAtAnyMomentAndUseItsStreamAsItGoes() async throws {
    try await withOpenSession { world, parts in
      let input = try #require(parts.session.inputStream)
      input.open()
      let bothEnded = DispatchGroup()
      let shared = Shared(input)
      for work in [
        { shared.stream.schedule(in: .main, forMode: .default) },
        {
          let delegate = Leaving(shared.stream)
          shared.stream.delegate = delegate
        },
      ] as [@Sendable () -> Void] {
        bothEnded.enter()
        Thread.detachNewThread {
          for _ in 0..<5_000 { work() }
          bothEnded.leave()
        }
      }
      let isOver = await withCheckedContinuation { continuation in
        DispatchQueue.global().async {
          continuation.resume(returning: bothEnded.wait(timeout: .now() + 60) == .success)
        }
      }
      try #require(isOver, "the two threads wait for each other")
    }
  }

  private struct Shared: @unchecked Sendable {
    let stream: InputStream
    init(_ stream: InputStream) { self.stream = stream }
  }
}
