import CCrypto

extension OpaquePointer {
  /// What was written to a memory BIO, as text, cut after `limit` bytes.
  func memoryText(limit: Int) -> String {
    let bytes = [UInt8](unsafeUninitializedCapacity: limit) { output, count in
      count = max(0, Int(BIO_read(self, output.baseAddress, Int32(limit))))
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
