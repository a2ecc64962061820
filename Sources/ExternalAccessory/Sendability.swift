// Apple's three classes are not Sendable. Many apps nevertheless capture instances of them in closures that run on a
// queue, which Swift 6 mode rejects. In this package the classes are Sendable, because they use locks. With the package
// trait AppleSendability, the compiler is as strict as with Apple's SDK.
#if !AppleSendability
  extension EAAccessory: @unchecked Sendable {}
  extension EAAccessoryManager: @unchecked Sendable {}
  extension EASession: @unchecked Sendable {}
#endif
