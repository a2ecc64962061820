import Glibc

/// Keeps the three standard descriptors open, because some programs close them before they start other programs.
///
/// Without replacements, the next file or socket that is opened would get a closed descriptor's number, and would
/// receive stdout's output.
enum StandardDescriptors {
  /// Opens replacements for closed descriptors. Using a replacement fails, as with a closed descriptor.
  static func hold() {
    // Each call to `open` uses the lowest free number, so it gets the number of the closed descriptor.
    for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
      _ = open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY)
    }
    // Exceeding the limit of `ulimit -f` should be an error, like a full disk, instead of ending this process.
    signal(SIGXFSZ, SIG_IGN)
    // A reader or peer that has exited should also cause an error instead of ending this process. The exit code does
    // not depend on whether `head` reads all of stdout.
    signal(SIGPIPE, SIG_IGN)
  }
}
