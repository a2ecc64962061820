// swift-format-ignore-file: AlwaysUseLowerCamelCase

import Glibc

// System calls that Swift's Glibc module lacks, and the functions of CLinux, are declared by hand instead of imported.
// If a module imports a C module of this package, every module that imports ExternalAccessory needs that C module too.
// A target with `#if canImport(ExternalAccessory)` would then fail to compile unless it depends on easim itself.

@_extern(c) func epoll_create1(_ flags: Int32) -> Int32
@_extern(c) func eventfd(_ count: UInt32, _ flags: Int32) -> Int32
@_extern(c) func sigabbrev_np(_ signal: Int32) -> UnsafePointer<CChar>?
@_extern(c) func signalfd(_ descriptor: Int32, _ signals: UnsafePointer<sigset_t>?, _ flags: Int32) -> Int32

@_extern(c) func clinux_epoll_control(
  _ epoll: Int32, _ operation: Int32, _ descriptor: Int32, _ events: UInt32, _ token: UInt64
) -> Int32
@_extern(c) func clinux_epoll_wait(
  _ epoll: Int32, _ events: UnsafeMutableRawPointer?, _ count: Int32, _ timeout: Int64
) -> Int32
@_extern(c) func clinux_find(
  _ all: UnsafeRawPointer?, _ room: Int, _ bytes: UnsafeRawPointer?, _ count: Int
) -> UnsafeRawPointer?
@_extern(c) func clinux_peer_credentials(
  _ socket: Int32, _ pid: UnsafeMutablePointer<Int32>?, _ user: UnsafeMutablePointer<UInt32>?
) -> Int32
@_extern(c) func clinux_tcp_owner(
  _ family: Int32, _ host: UnsafeRawPointer?, _ port: UInt16, _ peerHost: UnsafeRawPointer?, _ peerPort: UInt16,
  _ user: UnsafeMutablePointer<UInt32>?, _ inode: UnsafeMutablePointer<UInt32>?
) -> Int32
@_extern(c) func clinux_accept(
  _ listener: Int32, _ address: UnsafeMutablePointer<sockaddr>?, _ length: UnsafeMutablePointer<socklen_t>?
) -> Int32
@_extern(c) func clinux_open_pty(_ name: UnsafeMutablePointer<CChar>?, _ room: Int) -> Int32
@_extern(c) func clinux_open_process(_ pid: Int32) -> Int32
@_extern(c) func clinux_main_thread_is_also(_ isAlso: (@convention(c) () -> Bool)?)
@_extern(c) func clinux_exchange(_ one: UnsafePointer<CChar>?, _ other: UnsafePointer<CChar>?) -> Int32
@_extern(c) func clinux_rename_to_free(_ from: UnsafePointer<CChar>?, _ to: UnsafePointer<CChar>?) -> Int32
@_extern(c) func clinux_environment() -> UnsafePointer<UnsafeMutablePointer<CChar>?>?
@_extern(c) func clinux_write_to_pipe(_ pipe: Int32, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int
@_extern(c) func clinux_pipe(_ ends: UnsafeMutablePointer<Int32>?) -> Int32
@_extern(c) func clinux_start_guarded(
  _ path: UnsafePointer<CChar>?, _ words: UnsafePointer<UnsafeMutablePointer<CChar>?>?,
  _ variables: UnsafePointer<UnsafeMutablePointer<CChar>?>?, _ folder: UnsafePointer<CChar>?, _ input: Int32,
  _ output: Int32, _ errors: Int32, _ guardian: UnsafeMutablePointer<Int32>?, _ leash: UnsafeMutablePointer<Int32>?
) -> Int32

/// The constants of `struct epoll_event`, which is packed only on x86-64.
enum EpollEvent {
  #if arch(x86_64)
    static let stride = 12
    private static let tokenOffset = 4
  #else
    static let stride = 16
    private static let tokenOffset = 8
  #endif

  static let add: Int32 = 1
  static let delete: Int32 = 2
  static let modify: Int32 = 3

  static let input: UInt32 = 0x1
  static let output: UInt32 = 0x4
  static let error: UInt32 = 0x8
  static let hangUp: UInt32 = 0x10
  static let halfClose: UInt32 = 0x2000
  static let oneShot: UInt32 = 1 << 30

  static func mask(_ events: UnsafeMutableRawPointer, _ index: Int) -> UInt32 {
    events.loadUnaligned(fromByteOffset: index * stride, as: UInt32.self)
  }

  static func token(_ events: UnsafeMutableRawPointer, _ index: Int) -> UInt64 {
    events.loadUnaligned(fromByteOffset: index * stride + tokenOffset, as: UInt64.self)
  }
}
