#if canImport(ExternalAccessory)
  import ExternalAccessory

  /// Returns the names of the connected accessories.
  public func connectedNames() -> [String] { EAAccessoryManager.shared().connectedAccessories.map(\.name) }
#else
  /// Returns an empty list, because the system has no ExternalAccessory.
  public func connectedNames() -> [String] { [] }
#endif
