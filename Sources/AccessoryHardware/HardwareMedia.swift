import AccessoryCables

/// What is linked into this program by the product `ExternalAccessoryHardware`: one line for each medium.
///
/// Called by the C library of the package when ``MediumTable/linked`` is made, so that no source must import this
/// module.
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
