/// Which connection bytes of a capture belong to.
struct ConnectionKey: Hashable {
  /// The interface of the file.
  var interface: Int
  /// What tells connections of one interface apart: an address on the bus, a handle.
  var place = 0
  /// The channel within it: a server channel of RFCOMM.
  var channel = 0
}

/// Bytes of one direction of a connection, as a medium carried them.
struct StreamPiece {
  /// Which connection.
  var key: ConnectionKey
  /// Which of the two directions; true from the accessory, the USB device, or as Bluetooth's receiver.
  var isReceived: Bool
  /// The bytes.
  var bytes: ArraySlice<UInt8>
}

/// What a medium reports about its frames.
enum StreamEvent {
  /// Bytes passed.
  case bytes(StreamPiece)
  /// The connections at a place are over; what follows there is a new one.
  case over(ConnectionKey, wholePlace: Bool)
  /// Something is missing or damaged.
  case problem(ConnectionKey, String)
}
