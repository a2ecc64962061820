import AccessoryCables

/// Registers the media that the product `ExternalAccessoryHardware` links into this program.
///
/// This function is called by the package's C library when ``MediumTable/linked`` is created, so that no source file
/// needs to import this module.
///
/// - Parameter table: points to a ``MediumTable``.
@c(easim_add_hardware_media)
public func addHardwareMedia(to table: UnsafeMutableRawPointer?) {
  let table = table?.assumingMemoryBound(to: MediumTable.self)
  table?.pointee.add(USBMedium())
  table?.pointee.add(USBIPMedium())
  table?.pointee.add(GadgetMedium())
  table?.pointee.add(BluetoothMedium())
}
