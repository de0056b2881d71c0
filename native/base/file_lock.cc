#include "file_lock.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "error.h"

namespace nt {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kShortestPause{1};
constexpr milliseconds kLongestPause{20};

[[noreturn]] void throwLockError(const std::string& path, int error) {
  throw Error("ERR_TRT_FILE", "Cannot lock " + path + ": " + std::strerror(error), {{"path", path}});
}

int openFile(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor < 0) throwLockError(path, errno);
  return descriptor;
}

// The whole file, however long it grows.
bool setLock(int descriptor, short type) noexcept {
  struct flock whole = {};
  whole.l_type = type;
  whole.l_whence = SEEK_SET;
  return ::fcntl(descriptor, F_OFD_SETLK, &whole) == 0;
}

// Unlocked first: a child that was forked just now shares the description until it has become another program.
void unlockAndClose(int descriptor) noexcept {
  setLock(descriptor, F_UNLCK);
  ::close(descriptor);
}

// Somebody may have removed the file between our opening and our locking it; then the next one to come locks another.
bool isStill(const std::string& path, int descriptor) noexcept {
  struct stat here = {}, there = {};
  return ::fstat(descriptor, &here) == 0 && ::stat(path.c_str(), &there) == 0 && here.st_dev == there.st_dev &&
         here.st_ino == there.st_ino;
}

// Polls, since a blocked fcntl could not be cancelled. False when it was.
bool waitForLock(const std::string& path, int descriptor, const std::atomic<bool>& cancelled) {
  for (milliseconds pause = kShortestPause;; pause = std::min(pause * 2, kLongestPause)) {
    if (cancelled.load(std::memory_order_relaxed)) return false;
    if (setLock(descriptor, F_WRLCK)) return true;
    if (errno != EAGAIN && errno != EACCES && errno != EINTR) throwLockError(path, errno);
    std::this_thread::sleep_for(pause);
  }
}

}  // namespace

FileLock::FileLock(const std::string& file, const std::atomic<bool>& cancelled) {
  const std::string path = file + ".lock";
  for (;;) {
    struct Closing {
      int descriptor;
      ~Closing() {
        if (descriptor >= 0) unlockAndClose(descriptor);
      }
    } open{openFile(path)};
    if (!waitForLock(path, open.descriptor, cancelled)) throw Error("ABORTED", "Nobody waits for the lock of " + file);
    if (!isStill(path, open.descriptor)) continue;
    descriptor_.store(std::exchange(open.descriptor, -1));
    return;
  }
}

void FileLock::release() noexcept {
  const int descriptor = descriptor_.exchange(-1);
  if (descriptor >= 0) unlockAndClose(descriptor);
}

}  // namespace nt
