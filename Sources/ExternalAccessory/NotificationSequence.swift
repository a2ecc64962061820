import Foundation

/// Foundation's notifications as an async sequence, which Apple's systems have and Foundation on Linux has not.
///
/// ```swift
/// for await note in NotificationCenter.default.notifications(named: .EAAccessoryDidConnect) {
///   connect(note.userInfo?[EAAccessoryKey] as? EAAccessory)
/// }
/// ```
extension NotificationCenter {
  /// The notifications with a name, and from an object if one is given, from now on.
  public func notifications(
    named name: Notification.Name, object: (any AnyObject & Sendable)? = nil
  ) -> Notifications { Notifications(self, name, object) }

  /// Notifications in the order in which they are posted. They are kept until the loop takes them.
  public final class Notifications: AsyncSequence, @unchecked Sendable {
    private let stream: AsyncStream<Posted>

    fileprivate init(_ center: NotificationCenter, _ name: Notification.Name, _ object: AnyObject?) {
      let (stream, continuation) = AsyncStream.makeStream(of: Posted.self)
      let observer = Observer(
        center,
        center.addObserver(forName: name, object: object, queue: nil) { note in continuation.yield(Posted(note: note)) }
      )
      continuation.onTermination = { _ in observer.stop() }
      self.stream = stream
    }

    /// Begins to take them.
    public func makeAsyncIterator() -> Iterator { Iterator(inner: stream.makeAsyncIterator()) }

    /// Takes one after another.
    public struct Iterator: AsyncIteratorProtocol {
      fileprivate var inner: AsyncStream<Posted>.Iterator

      /// The next one; nil when the task is cancelled.
      public mutating func next() async -> Notification? { await inner.next()?.note }
    }

    /// What the poster hands over, and nothing of it is used by two threads at once unless the app does.
    fileprivate struct Posted: @unchecked Sendable { let note: Notification }

    private final class Observer: @unchecked Sendable {
      private let center: NotificationCenter
      private let token: any NSObjectProtocol

      init(_ center: NotificationCenter, _ token: any NSObjectProtocol) { (self.center, self.token) = (center, token) }

      func stop() { center.removeObserver(token) }
    }
  }
}
