import Glibc

/// The three standard descriptors, which some programs close before they start other programs.
///
/// Without replacements, the next opened file or socket would get a closed descriptor's number and receive the output
/// for stdout.
enum StandardDescriptors {
  /// Opens replacements for closed descriptors; reading stdin and writing stdout and stderr still fail.
  static func hold() {
    // Each call to `open` uses the lowest free number, so it gets the number of the closed descriptor.
    for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
      _ = open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY)
    }
    // Exceeding the limit of `ulimit -f` should be an error, like a full disk, instead of ending this process.
    signal(SIGXFSZ, SIG_IGN)
    // A reader or peer that has exited should also cause an error. The exit code is the same whether or not `head`
    // reads the rest of stdout.
    signal(SIGPIPE, SIG_IGN)
  }
}
