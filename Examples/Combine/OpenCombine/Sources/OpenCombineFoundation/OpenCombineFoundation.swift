// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

import Foundation
import OpenCombine

#if !canImport(Combine)
  extension NotificationCenter {
    /// Publishes the notifications with one name.
    public struct Publisher {
      let center: NotificationCenter
      let name: Notification.Name

      /// Adds a receiver.
      public func sink(receiveValue: @escaping (Notification) -> Void) -> AnyCancellable {
        let token = center.addObserver(forName: name, object: nil, queue: nil) { receiveValue($0) }
        return AnyCancellable { center.removeObserver(token) }
      }
    }

    /// Returns a publisher of the notifications with one name.
    public func publisher(for name: Notification.Name) -> Publisher { Publisher(center: self, name: name) }
  }
#endif
