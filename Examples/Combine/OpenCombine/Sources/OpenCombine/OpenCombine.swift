// As in OpenCombine's sources: with a module of this name in the build folder, the types below would not exist.
#if canImport(Combine)
  @_exported import Combine
#else
  public final class AnyCancellable {
    private let cancelled: () -> Void
    public init(_ cancelled: @escaping () -> Void) { self.cancelled = cancelled }
    deinit { cancelled() }
  }

  public final class PassthroughSubject<Output, Failure: Error> {
    private var receivers: [Int: (Output) -> Void] = [:]
    private var count = 0
    public init() {}
    public func send(_ value: Output) { for receiver in receivers.values { receiver(value) } }
    public func sink(receiveValue: @escaping (Output) -> Void) -> AnyCancellable {
      count += 1
      let number = count
      receivers[number] = receiveValue
      return AnyCancellable { [weak self] in self?.receivers[number] = nil }
    }
  }
#endif
