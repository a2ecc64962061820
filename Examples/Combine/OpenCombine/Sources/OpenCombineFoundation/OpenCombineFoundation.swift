import Foundation
import OpenCombine

#if !canImport(Combine)
  extension NotificationCenter {
    public struct Publisher {
      let center: NotificationCenter
      let name: Notification.Name

      public func sink(receiveValue: @escaping (Notification) -> Void) -> AnyCancellable {
        let token = center.addObserver(forName: name, object: nil, queue: nil) { receiveValue($0) }
        return AnyCancellable { center.removeObserver(token) }
      }
    }

    public func publisher(for name: Notification.Name) -> Publisher { Publisher(center: self, name: name) }
  }
#endif
