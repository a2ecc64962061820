import Glibc

/// The three standard descriptors, which some programs close before they start others.
///
/// The next file or socket that is opened would get such a number, and output for stdout would go into it.
enum StandardDescriptors {
  /// Opens replacements for closed ones, on which reading stdin and writing stdout and stderr still fail.
  static func hold() {
    // Every open takes the lowest free number, which is the closed one.
    for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
      _ = open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY)
    }
    // Writing more than `ulimit -f` allows is an error like that of a full disk, and not the end of this process.
    signal(SIGXFSZ, SIG_IGN)
    // Nor is a reader or a peer that is gone. The exit code says the same whether `head` reads the rest of stdout or not.
    signal(SIGPIPE, SIG_IGN)
  }
}
