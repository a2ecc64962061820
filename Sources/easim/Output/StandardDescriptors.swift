import Glibc

/// The three standard descriptors, which some programs close before they start others.
///
/// The next file or socket that is opened would get such a number, and output for stdout would go into it.
enum StandardDescriptors {
  /// Opens replacements for closed ones: reading stdin still fails, and nothing reads stdout and stderr.
  static func hold() {
    // Every open takes the lowest free number, which is the closed one.
    for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
      _ = open("/dev/null", O_WRONLY)
    }
    // Writing more than `ulimit -f` allows is an error like that of a full disk, and not the end of this process.
    signal(SIGXFSZ, SIG_IGN)
  }
}
