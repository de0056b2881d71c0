// One holder at a time for a file that several processes change.
#pragma once

#include <atomic>
#include <string>

namespace nt {

// The exclusive lock of `<file>.lock`, as trtexec and NVIDIA's Python tools name it. It is an open file description
// lock: it excludes other threads of this process too, it and the record locks of those tools (lockf) exclude each
// other, and the kernel frees it when its holder dies. The lock file stays: who removes one takes it from under
// somebody who waits for it.
class FileLock {
 public:
  // Waits for its turn, and looks at `cancelled` meanwhile. Throws ERR_TRT_FILE; ABORTED when it was cancelled.
  FileLock(const std::string& file, const std::atomic<bool>& cancelled);
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  ~FileLock() { release(); }

  // Twice without harm, from any thread.
  void release() noexcept;

 private:
  std::atomic<int> descriptor_{-1};
};

}  // namespace nt
