import AccessoryCables
import AccessoryCore

/// A port whose cables are wrapped: with faults, with a transcript.
public final class WrappedPort: Port {
  private let inner: any Port
  private let wrap: (Cable) -> Cable

  /// A port around another; `wrap` is called for each cable.
  public init(_ inner: any Port, wrap: @escaping (Cable) -> Cable) {
    self.inner = inner
    self.wrap = wrap
  }

  /// That of the port inside.
  public var place: String { inner.place }

  /// Shows it where the port inside does.
  public func show(_ appearance: PortAppearance) { inner.show(appearance) }

  /// Plugs in.
  public func open(_ onEvent: @escaping (PortEvent) -> Void) throws {
    try inner.open { [wrap] event in
      guard case .cable(let cable, let device) = event else { return onEvent(event) }
      onEvent(.cable(wrap(cable), from: device))
    }
  }

  /// Unplugs.
  public func close() { inner.close() }
}
