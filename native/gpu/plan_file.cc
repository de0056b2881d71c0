#include "plan_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "../base/error.h"

namespace nt::gpu {
namespace {

[[noreturn]] void throwUnreadable() {
  throw Error("ERR_TRT_FILE", std::string("Cannot read the plan: ") + std::strerror(errno));
}

}  // namespace

PlanFile::PlanFile(int descriptor) : file_(::fcntl(descriptor, F_DUPFD_CLOEXEC, 0)) {
  constexpr std::size_t kHead = 64;
  struct stat facts {};
  if (file_ < 0 || ::fstat(file_, &facts) != 0) throwUnreadable();
  size_ = static_cast<std::size_t>(facts.st_size);
  head_.resize(std::min(size_, kHead));
  head_.resize(read(head_.data(), head_.size(), 0));
}

std::size_t PlanFile::read(void* to, std::size_t bytes, std::size_t offset) const {
  std::size_t done = 0;
  while (done < bytes) {
    const ssize_t got =
        ::pread(file_, static_cast<uint8_t*>(to) + done, bytes - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throwUnreadable();
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

std::vector<uint8_t> PlanFile::readAll() const {
  std::vector<uint8_t> bytes(size_);
  bytes.resize(read(bytes.data(), bytes.size(), 0));
  return bytes;
}

}  // namespace nt::gpu
