// A guardian process runs between this process and a program, and never outlives either of them.
//
// The guardian is the subreaper of everything that the program starts, so nothing can escape it by leaving its process
// group or parent. When the program ends, the guardian ends all remaining processes. When this process ends for any
// reason, the guardian kills everything immediately. To detect the end of this process, the guardian waits on a pipe
// (the leash) whose other end only this process holds. The guardian is a forked process that never calls exec, so it
// calls only functions that are allowed after a fork in a multithreaded process.
#define _GNU_SOURCE
#include "CLinux.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

// How long processes that the program left running may take to end after SIGTERM.
enum { grace_milliseconds = 1000, round_milliseconds = 50, longest_kill_milliseconds = 5000 };

// Everything that the child needs, prepared before the fork.
struct program {
  const char *path;
  char *const *words;
  char *const *variables;
  const char *folder;
  int standard[3];
};

static void close_from(int first) {
#ifdef SYS_close_range
  if (syscall(SYS_close_range, first, ~0U, 0) == 0) return;
#endif
  struct rlimit limit;
  int end = getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < 65536 ? (int)limit.rlim_cur : 65536;
  for (int descriptor = first; descriptor < end; descriptor++) close(descriptor);
}

static _Noreturn void fail(int report, int code) {
  while (write(report, &code, sizeof code) < 0 && errno == EINTR) {}
  _exit(127);
}

// Runs in the program's process, from the fork to exec.
static _Noreturn void become(const struct program *program, int report, pid_t guardian) {
  if (setpgid(0, 0) != 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) fail(report, errno);
  if (getppid() != guardian) _exit(127);
  for (int target = 0; target < 3; target++) {
    if (dup2(program->standard[target], target) < 0) fail(report, errno);
  }
  // The report pipe becomes descriptor 3, above the standard descriptors, and stays close-on-exec.
  if (report != 3) {
    if (dup3(report, 3, O_CLOEXEC) < 0) fail(report, errno);
    report = 3;
  }
  close_from(4);
  if (program->folder && chdir(program->folder) != 0) fail(report, errno);
  struct sigaction usual = {.sa_handler = SIG_DFL};
  for (int number = 1; number < NSIG; number++) sigaction(number, &usual, NULL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  execve(program->path, program->words, program->variables);
  fail(report, errno);
}

// Signals every child. Grandchildren become children once their parent has ended.
static void signal_children(int number) {
  char text[4096];
  int file = open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  pid_t child = 0;
  ssize_t count;
  while ((count = read(file, text, sizeof text)) > 0) {
    for (ssize_t at = 0; at < count; at++) {
      if (text[at] >= '0' && text[at] <= '9') {
        child = child * 10 + (text[at] - '0');
      } else {
        if (child > 0) kill(child, number);
        child = 0;
      }
    }
  }
  close(file);
}

// Reaps processes that have ended. Returns true if any children are left.
static bool reap(void) {
  pid_t ended;
  while ((ended = waitpid(-1, NULL, WNOHANG)) > 0) {}
  return ended == 0;
}

// Kills all remaining processes. If `patience` is not 0, sends SIGTERM before SIGKILL.
static void sweep(pid_t body, int signals, int patience) {
  // The program has not been reaped yet, so its group number has not been reused.
  kill(-body, patience > 0 ? SIGTERM : SIGKILL);
  for (int passed = 0; passed < patience + longest_kill_milliseconds; passed += round_milliseconds) {
    signal_children(passed < patience ? SIGTERM : SIGKILL);
    if (!reap()) return;
    struct pollfd waiting = {.fd = signals, .events = POLLIN};
    struct signalfd_siginfo unread[8];
    if (poll(&waiting, 1, round_milliseconds) > 0 && read(signals, unread, sizeof unread) < 0) {}
    if (!reap()) return;
  }
}

static _Noreturn void guard(pid_t body, int leash, int signals) {
  while (1) {
    struct pollfd waiting[2] = {{.fd = leash, .events = POLLIN}, {.fd = signals, .events = POLLIN}};
    if (poll(waiting, 2, -1) < 0) continue;
    if (waiting[0].revents) {
      unsigned char number;
      ssize_t count = read(leash, &number, 1);
      if (count == 1) {
        kill(-body, number);
      } else if (count == 0 || (errno != EINTR && errno != EAGAIN)) {
        sweep(body, signals, 0);
        _exit(0);
      }
    }
    if (!waiting[1].revents) continue;
    struct signalfd_siginfo unread[8];
    if (read(signals, unread, sizeof unread) < 0) {}
    while (1) {
      siginfo_t info = {0};
      if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) break;
      if (info.si_pid != body) {
        waitpid(info.si_pid, NULL, 0);
        continue;
      }
      int status = info.si_status;
      bool was_killed = info.si_code != CLD_EXITED;
      sweep(body, signals, grace_milliseconds);
      if (!was_killed) _exit(status);
      // The guardian ends with the same signal as the program, but does not write a core dump.
      struct rlimit none = {0, 0};
      setrlimit(RLIMIT_CORE, &none);
      struct sigaction usual = {.sa_handler = SIG_DFL};
      sigaction(status, &usual, NULL);
      sigset_t all;
      sigfillset(&all);
      sigprocmask(SIG_UNBLOCK, &all, NULL);
      kill(getpid(), status);
      _exit(128 + status);
    }
  }
}

// Runs in the guardian's process, from the fork to its end. All signals are blocked.
static _Noreturn void be_guardian(const struct program *program, int leash, int report) {
  pid_t self = getpid();
  setpgid(0, 0);
  prctl(PR_SET_NAME, "easim-guardian");
  struct sigaction usual = {.sa_handler = SIG_DFL};
  sigaction(SIGCHLD, &usual, NULL);
  if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) fail(report, errno);
  pid_t body = fork();
  if (body < 0) fail(report, errno);
  if (body == 0) become(program, report, self);
  setpgid(body, body);
  // All other descriptors are closed; otherwise, readers of the program's pipes would never see the end of file, and
  // the parent's files would never be closed.
  if (dup2(leash, 0) < 0) fail(report, errno);
  close_from(1);
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  int signals = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
  if (signals < 0) {
    kill(-body, SIGKILL);
    _exit(127);
  }
  guard(body, 0, signals);
}

int clinux_start_guarded(const char *path, char *const *words, char *const *variables, const char *folder, int input,
                         int output, int errors, int32_t *guardian, int *leash) {
  const struct program program = {path, words, variables, folder, {input, output, errors}};
  int reins[2], report[2];
  if (pipe2(reins, O_CLOEXEC) != 0) return errno;
  if (pipe2(report, O_CLOEXEC) != 0) {
    int code = errno;
    close(reins[0]);
    close(reins[1]);
    return code;
  }
  // This process's signal handlers must not run in the new process.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pid_t child = fork();
  int code = child < 0 ? errno : 0;
  if (child == 0) {
    // Both pipes move above the standard descriptors, which are about to be replaced.
    int own = fcntl(report[1], F_DUPFD_CLOEXEC, 4);
    int rein = fcntl(reins[0], F_DUPFD_CLOEXEC, 4);
    if (own < 0 || rein < 0) fail(report[1], errno);
    be_guardian(&program, rein, own);
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  close(reins[0]);
  close(report[1]);
  if (code == 0) {
    // End of file on this pipe means that exec succeeded.
    int failure = 0;
    ssize_t count;
    do count = read(report[0], &failure, sizeof failure);
    while (count < 0 && errno == EINTR);
    if (count == sizeof failure) code = failure;
  }
  close(report[0]);
  if (code == 0) {
    *guardian = child;
    *leash = reins[1];
    return 0;
  }
  close(reins[1]);
  if (child > 0) {
    while (waitpid(child, NULL, 0) < 0 && errno == EINTR) {}
  }
  return code;
}
