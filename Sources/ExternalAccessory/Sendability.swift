// Apple's three classes are not Sendable, and many apps capture them in closures for a queue all the same, which Swift 6 mode
// rejects. Here they are Sendable, as their locks make them. With the package trait AppleSendability the compiler is as strict
// with the app as it is with Apple's SDK.
#if !AppleSendability
  extension EAAccessory: @unchecked Sendable {}
  extension EAAccessoryManager: @unchecked Sendable {}
  extension EASession: @unchecked Sendable {}
#endif
