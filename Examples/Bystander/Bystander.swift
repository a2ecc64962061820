#if canImport(ExternalAccessory)
  import ExternalAccessory

  /// The names of what is connected, where the system has ExternalAccessory.
  public func connectedNames() -> [String] { EAAccessoryManager.shared().connectedAccessories.map(\.name) }
#else
  /// The names of what is connected, where the system has ExternalAccessory.
  public func connectedNames() -> [String] { [] }
#endif
