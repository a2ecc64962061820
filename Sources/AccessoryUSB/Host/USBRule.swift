/// The udev rule that lets an ordinary user open accessories, as `Scripts/udev/70-easim.rules` has it.
public enum USBRule {
  /// Where it belongs.
  public static let path = "/etc/udev/rules.d/70-easim.rules"

  /// The rule itself, one line.
  public static let text =
    #"SUBSYSTEM=="usb", ENV{DEVTYPE}=="usb_device", ENV{ID_USB_INTERFACES}=="*:fff000:*", GROUP="plugdev", "#
    + #"MODE="0660", TAG+="uaccess""#

  /// What installs it, to be pasted into a shell.
  public static let installCommand =
    "echo '\(text)' | sudo tee \(path) && sudo udevadm control --reload && sudo udevadm trigger --subsystem-match=usb"
}
