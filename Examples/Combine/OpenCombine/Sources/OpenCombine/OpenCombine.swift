// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

// As in OpenCombine's sources, the types below do not exist if the build folder contains a module with this name.
#if canImport(Combine)
  @_exported import Combine
#else
  /// A subscription that ends when this object is released.
  public final class AnyCancellable {
    private let cancelled: () -> Void
    /// Creates an object that calls `cancelled` when it is released.
    public init(_ cancelled: @escaping () -> Void) { self.cancelled = cancelled }
    deinit { cancelled() }
  }

  /// Passes values on.
  public final class PassthroughSubject<Output, Failure: Error> {
    private var receivers: [Int: (Output) -> Void] = [:]
    private var count = 0
    /// Creates a subject without receivers.
    public init() {}
    /// Passes a value to all receivers.
    public func send(_ value: Output) { for receiver in receivers.values { receiver(value) } }
    /// Adds a receiver.
    public func sink(receiveValue: @escaping (Output) -> Void) -> AnyCancellable {
      count += 1
      let number = count
      receivers[number] = receiveValue
      return AnyCancellable { [weak self] in self?.receivers[number] = nil }
    }
  }
#endif
