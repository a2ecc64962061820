import AccessoryBluetooth
import AccessoryCables
import AccessoryCore
import AccessoryFormats
import AccessoryUSB
import CLinux
import Certificates
import Glibc
import LinuxIO

extension CommandSpec {
  static let doctor = CommandSpec(
    name: "doctor", summary: "check this machine and print the fix for whatever is missing",
    details: """
      Check everything that easim needs from this machine, one line each: ✓ works, ! works with limits, ✗ does not work. The
      line below a problem is the command that fixes it. The exit code is 1 if something does not work.
      """,
    examples: ["easim doctor"], run: runDoctor)
}

private struct DoctorOptions: CommandOptions {
  var shared = SharedOptions()

  static let options: [Option<Self>] = [.json]
}

private func runDoctor(_ options: DoctorOptions, _ console: Console) throws -> ExitCode {
  let found = Machine.examine()
  if console.isJSON {
    for examination in found {
      console.out(
        event: "result",
        [
          "check": examination.name, "passed": examination.passed, "text": examination.finding.text,
          "remedy": examination.finding.remedy,
        ])
    }
  } else {
    let rows = found.map { [$0.finding.mark, $0.name, $0.purpose, $0.finding.text] }
    for (examination, line) in zip(found, TextTable.lines(rows)) {
      console.outJudged(String(line.dropFirst(2)))
      if let remedy = examination.finding.remedy { console.out("     \(remedy)") }
    }
  }
  return found.allSatisfy(\.passed) ? .done : .checkFailed
}

struct Examination {
  struct Finding {
    let mark: String
    let text: String
    var remedy: String?

    static func works(_ text: String) -> Self { Self(mark: "✓", text: text) }
    static func limited(_ text: String, remedy: String) -> Self { Self(mark: "!", text: text, remedy: remedy) }
    static func fails(_ text: String, remedy: String) -> Self { Self(mark: "✗", text: text, remedy: remedy) }
  }

  /// The check's name in JSON, which must never change.
  let name: String
  let purpose: String
  let finding: Finding

  var passed: Bool { finding.mark != "✗" }
}

/// The checks that `easim doctor` runs. Each check performs the actual operation and then undoes it.
enum Machine {
  static func examine() -> [Examination] {
    [
      Examination(name: "kernel", purpose: "timers with nanosecond resolution", finding: kernel),
      Examination(name: "local", purpose: "finding the accessories of other processes", finding: local),
      Examination(name: "inotify", purpose: "detecting local accessories", finding: inotify),
      Examination(name: "processes", purpose: "detecting that a simulator has ended", finding: processes),
      Examination(name: "tcp", purpose: "accessories on a TCP port of this machine", finding: tcp),
      Examination(name: "pty", purpose: "accessories on a simulated serial line", finding: pty),
      Examination(name: "libcrypto", purpose: "authentication", finding: cryptography),
      Examination(name: "descriptors", purpose: "running a thousand accessories", finding: descriptors),
      Examination(name: "usb", purpose: "real accessories on USB", finding: usb),
      Examination(name: "bluetooth", purpose: "accessories on Bluetooth, in both roles", finding: bluetooth),
      Examination(
        name: "usbip", purpose: "simulated accessories as USB devices of this machine (easim plug)",
        finding: virtualHost),
      Examination(name: "udc", purpose: "simulated accessories on this machine's USB device port", finding: devicePort),
      Examination(name: "configfs", purpose: "creating simulated accessories on the USB device port", finding: gadgets),
      Examination(
        name: "functionfs", purpose: "carrying the data of accessories on the USB device port", finding: functionFS),
    ]
  }

  // MARK: Kernel

  private static var kernel: Examination.Finding {
    var name = utsname()
    uname(&name)
    let release = withUnsafeBytes(of: &name.release) { String(terminated: $0) }
    let numbers = release.split { !$0.isNumber }.prefix(2).compactMap { Int($0) }
    let isRecent = numbers.count == 2 && (numbers[0], numbers[1]) >= (5, 11)
    return isRecent
      ? .works("Linux \(release)")
      : .limited("Linux \(release) has timers with millisecond resolution", remedy: "use Linux 5.11 or later")
  }

  private static var inotify: Examination.Finding {
    do {
      let loop = try EpollLoop()
      let watch = try DirectoryWatch(on: loop) { _ in }
      defer { watch.close() }
      try watch.look(at: "/tmp", for: .creations)
      return .works("inotify")
    } catch {
      let limits = "fs.inotify.max_user_instances=512 fs.inotify.max_user_watches=65536"
      return .fails("\(error)", remedy: "sudo sysctl \(limits)")
    }
  }

  private static var processes: Examination.Finding {
    do {
      let watch = ProcessWatch(.current, on: try EpollLoop()) {}
      watch?.cancel()
      return
        watch == nil
        ? .limited(
          "the kernel does not report when a process ends, so easim checks once a second",
          remedy: "use Linux 5.3 or later")
        : .works("process descriptors")
    } catch {
      return .fails("\(error)", remedy: "ulimit -n 4096")
    }
  }

  private static var descriptors: Examination.Finding {
    var limit = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    let count = limit.rlim_max
    return count >= 4_096
      ? .works("\(count) open files")
      : .limited("\(count) open files", remedy: "sudo prlimit --pid $$ --nofile=4096:4096")
  }

  // MARK: Places where accessories appear

  private static var local: Examination.Finding {
    let local = LocalDirectory.standard()
    do throws(LocalError) {
      let isThere = try local.check()
      let place = isThere ? local.path : String(local.path[..<(local.path.lastIndex(of: "/") ?? local.path.startIndex)])
      if local.path.utf8.count > LocalDirectory.longestPath { throw .pathTooLong(local.path) }
      if access(place.isEmpty ? "/" : place, W_OK | X_OK) != 0 {
        throw errno == ENOENT ? .noParent(local.path) : .system(SystemError("write to \(place)", code: errno))
      }
      return .works(isThere ? local.path : "\(local) (created when the first accessory is plugged in)")
    } catch {
      return .fails("\(error)", remedy: remedy(for: error))
    }
  }

  private static func remedy(for error: LocalError) -> String {
    switch error {
    case .writable(let path, by: _, holdsOnlyOwnFiles: true): "chmod 700 \(path.shellWord)"
    case .noParent(let path): "mkdir -p \(path.shellWord) && chmod 700 \(path.shellWord)"
    case .writable, .notADirectory, .notOwned, .pathTooLong, .system:
      #"export EASIM_LOCAL="$(mktemp -d)""#
    }
  }

  private static var tcp: Examination.Finding {
    do {
      let listener = try Transports.listen(at: .tcp(host: "127.0.0.1", port: 0), on: try EpollLoop()) { _ in }
      defer { listener.close() }
      return .works("\(listener.address)")
    } catch {
      return .fails("\(error)", remedy: "sudo ip link set lo up")
    }
  }

  private static var pty: Examination.Finding {
    var name = [CChar](repeating: 0, count: 64)
    let master = clinux_open_pty(&name, name.count)
    let code = errno
    if master >= 0 { close(master) }
    return master >= 0
      ? .works("pseudo terminals")
      : .fails("\(SystemError("make a pseudo terminal", code: code))", remedy: "sudo mount -t devpts devpts /dev/pts")
  }

  // MARK: Authentication

  private static var cryptography: Examination.Finding {
    do throws(AuthenticatorError) {
      let (accessory, device) = (SimulatedCoprocessor(seed: 1), AccessoryVerifier())
      let challenge = try device.challenge(for: accessory.certificate)
      let response = try accessory.respond(to: challenge)
      switch device.judge(response: response, to: challenge, certificate: accessory.certificate) {
      case .accepted: return .works(LibraryVersion.text)
      case .refused(let reason):
        return .fails("\(LibraryVersion.text) rejects its own signature: \(reason)", remedy: reinstall)
      }
    } catch {
      return .fails("\(LibraryVersion.text): \(error)", remedy: reinstall)
    }
  }

  private static let reinstall = "sudo apt-get install --reinstall libssl3"

  // MARK: USB

  private static var usb: Examination.Finding {
    do {
      let judged = judge(try USBDevices.look())
      if judged.remedy == nil {
        let devices = USBDevices(on: try EpollLoop()) { _ in }
        try devices.start()
        devices.stop()
      }
      return judged
    } catch {
      return .limited("\(error)", remedy: "sudo apt-get install --reinstall libusb-1.0-0 libudev1")
    }
  }

  private static func judge(_ found: [USBAccessory]) -> Examination.Finding {
    for accessory in found {
      if case .noPermission(let node) = accessory.obstacle {
        return .limited(
          "found \(accessory.title), but opening \(node) is not permitted", remedy: USBRule.installCommand)
      }
    }
    let count = found.count { $0.trouble == nil }
    return .works("\(USBHost.libraryVersion), \(count.counted("accessory", "accessories"))")
  }

  private static var bluetooth: Examination.Finding {
    do throws(BluetoothError) {
      let objects = try BlueZ.look()
      let adapter = try objects.adapter(named: nil)
      let count = objects.deviceList.count { $0.isAccessory && $0.isPaired }
      return .works("BlueZ, \(adapter.name), \(count.counted("paired accessory", "paired accessories"))")
    } catch {
      // If a USB Bluetooth adapter is plugged in but has no interface, its driver is missing. Loading the driver does
      // no harm if no adapter is plugged in.
      let driver = if case .noAdapter = error { KernelModule.bluetoothOnUSB.remedy } else { String?.none }
      return .limited(error.detail, remedy: error.remedy ?? driver ?? SystemService.bluetooth.restart)
    }
  }

  private static var virtualHost: Examination.Finding {
    let isThere = access("/sys/devices/platform/vhci_hcd.0/status", F_OK) == 0
    return isThere
      ? .works("vhci_hcd") : .limited("no virtual USB host controller", remedy: KernelModule.virtualHost.remedy)
  }

  // MARK: USB device port

  // A missing port counts only as a limitation, because most machines have no USB device port.

  private static var devicePort: Examination.Finding {
    let names = GadgetSystem().controllerNames
    return names.isEmpty
      ? limited("no USB port that can act as a device", .noControllers)
      : .works(names.map { "gadget:\($0)" }.joined(separator: ", "))
  }

  private static var gadgets: Examination.Finding {
    do throws(GadgetError) {
      try GadgetSystem().check()
      return .works("gadgets through configfs")
    } catch {
      let text =
        switch error {
        case .noConfigFS: "this kernel has no configfs"
        case .notMounted: "configfs is not mounted"
        default: "this kernel has no gadget support"
        }
      return limited(text, error)
    }
  }

  private static var functionFS: Examination.Finding {
    GadgetSystem().hasFunctionFS ? .works("usb_f_fs") : limited("not loaded", .noFunctionFS)
  }

  private static func limited(_ text: String, _ error: GadgetError) -> Examination.Finding {
    error.remedy.map { .limited(text, remedy: $0) } ?? .works(text)
  }
}
