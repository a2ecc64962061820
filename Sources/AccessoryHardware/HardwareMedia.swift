import AccessoryCables

/// Registers the media in the product `ExternalAccessoryHardware`.
///
/// The package's C library calls this function when ``MediumTable/linked`` is created, so no source file has to import
/// this module.
///
/// - Parameter table: a pointer to a ``MediumTable``.
@c(easim_add_hardware_media)
public func addHardwareMedia(to table: UnsafeMutableRawPointer?) {
  let table = table?.assumingMemoryBound(to: MediumTable.self)
  table?.pointee.add(USBMedium())
  table?.pointee.add(USBIPMedium())
  table?.pointee.add(GadgetMedium())
  table?.pointee.add(BluetoothMedium())
}
