/// Runs one of libcrypto's DER encoders: once to ask for the length, once to write.
func encoded(_ encode: (UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>?) -> Int32) -> [UInt8] {
  let length = Int(encode(nil))
  precondition(length > 0, "libcrypto cannot encode what it made: \(LibraryReasons.take())")
  return [UInt8](unsafeUninitializedCapacity: length) { output, count in
    var position = output.baseAddress
    count = Int(encode(&position))
    precondition(count == length, "libcrypto wrote \(count) bytes where it had announced \(length)")
  }
}
