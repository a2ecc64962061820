/// libFuzzer's way in.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  FuzzedPropertyList.play([UInt8](UnsafeBufferPointer(start: start, count: count)))
  return 0
}
