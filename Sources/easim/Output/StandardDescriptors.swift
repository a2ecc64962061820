import Glibc

/// The three standard descriptors, which some programs close before they start others.
///
/// The next file or socket that is opened would get such a number, and output for stdout would go into it.
enum StandardDescriptors {
  /// Opens replacements for closed ones, with which reading stdin and writing stdout and stderr still fail.
  static func hold() {
    // Every open uses the lowest free number, which is the closed one.
    for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
      _ = open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY)
    }
    // Exceeding the limit of `ulimit -f` should be an error like a full disk, and not end this process.
    signal(SIGXFSZ, SIG_IGN)
    // Nor should a reader or a peer that is gone. The exit code is the same whether or not `head` reads the rest of
    // stdout.
    signal(SIGPIPE, SIG_IGN)
  }
}
