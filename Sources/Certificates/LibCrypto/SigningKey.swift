/// The private key of a coprocessor, of either generation.
protocol SigningKey: AnyObject, Sendable {
  /// The key as X.509 wants it. Lives as long as this object.
  var key: OpaquePointer { get }

  /// The bytes of AA03 for a digest of the generation's size; the same digest makes the same bytes.
  func response(signing digest: [UInt8]) throws(AuthenticatorError) -> [UInt8]
}
