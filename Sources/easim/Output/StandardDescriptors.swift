import Glibc

/// The three descriptors that every program is given, and that some starters of programs close.
///
/// The next file or socket that is opened would take such a number, and what is meant for stdout would go into it.
enum StandardDescriptors {
  /// Puts something in the place of those that are closed: reading stdin goes on to fail, and stdout and stderr have
  /// nobody who reads them.
  static func hold() {
    // Every open takes the lowest free number, which is the closed one.
    for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
      _ = open("/dev/null", O_WRONLY)
    }
    // Writing more than `ulimit -f` allows is an error like that of a full disk, and not the end of this process.
    signal(SIGXFSZ, SIG_IGN)
  }
}
