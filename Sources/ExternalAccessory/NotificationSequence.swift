import Foundation

/// Provides Foundation's notifications as an async sequence. This API exists on Apple's systems, but not in Foundation
/// on Linux.
///
/// ```swift
/// for await note in NotificationCenter.default.notifications(named: .EAAccessoryDidConnect) {
///   connect(note.userInfo?[EAAccessoryKey] as? EAAccessory)
/// }
/// ```
extension NotificationCenter {
  /// Returns the notifications with this name that are posted from now on. If `object` is given, returns only the
  /// notifications that `object` posts.
  public func notifications(
    named name: Notification.Name, object: (any AnyObject & Sendable)? = nil
  ) -> Notifications { Notifications(self, name, object) }

  /// Notifications in the order in which they are posted. Each notification is buffered until the loop over the
  /// sequence reaches it.
  public final class Notifications: AsyncSequence, @unchecked Sendable {
    private let stream: AsyncStream<Posted>

    fileprivate init(_ center: NotificationCenter, _ name: Notification.Name, _ object: AnyObject?) {
      let (stream, continuation) = AsyncStream.makeStream(of: Posted.self)
      // An observer can be removed from any thread.
      nonisolated(unsafe) let observer = center.addObserver(forName: name, object: object, queue: nil) { note in
        continuation.yield(Posted(note: note))
      }
      continuation.onTermination = { _ in center.removeObserver(observer) }
      self.stream = stream
    }

    /// Creates the iterator.
    public func makeAsyncIterator() -> Iterator { Iterator(inner: stream.makeAsyncIterator()) }

    /// Iterates over the notifications.
    public struct Iterator: AsyncIteratorProtocol {
      fileprivate var inner: AsyncStream<Posted>.Iterator

      /// Returns the next notification, or nil if the task is cancelled.
      public mutating func next() async -> Notification? { await inner.next()?.note }
    }

    /// Passes a notification from the thread that posts it to the thread that receives it. Only one thread at a time
    /// uses the notification, unless the app shares the notification's contents.
    fileprivate struct Posted: @unchecked Sendable { let note: Notification }
  }
}
