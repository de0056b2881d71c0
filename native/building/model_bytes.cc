#include "model_bytes.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "../base/descriptor.h"
#include "../base/error.h"

namespace nt::building {
namespace {

constexpr std::size_t kWindow = 64 * 1024;

[[noreturn]] void throwUnreadable(const std::string& path, const std::string& why) {
  throw Error("ERR_TRT_FILE", "Cannot read the model " + path + ": " + why, {{"path", path}});
}

}  // namespace

// A pipe or a device, which may never answer, is not waited for; nor is it in readModel.
ModelBytes::ModelBytes(const std::string& path)
    : file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)), path_(path), buffer_(kWindow) {
  struct stat facts = {};
  if (file_ < 0 || ::fstat(file_, &facts) != 0) throwUnreadable(path, std::strerror(errno));
  if (!S_ISREG(facts.st_mode)) throwUnreadable(path, "it is not an ordinary file");
  size_ = static_cast<uint64_t>(facts.st_size);
}

std::string ModelBytes::text(uint64_t place, uint64_t size) {
  std::string read;
  read.reserve(size);
  while (read.size() < size) read.push_back(static_cast<char>(at(place + read.size())));
  return read;
}

void ModelBytes::look(uint64_t place) {
  ssize_t got = 0;
  do {
    got = ::pread(file_, buffer_.data(), buffer_.size(), static_cast<off_t>(place));
  } while (got < 0 && errno == EINTR);
  if (got < 0) throwUnreadable(path_, std::strerror(errno));
  if (got == 0) throwUnreadable(path_, "it became shorter while it was read");
  window_ = buffer_.data();
  from_ = place;
  length_ = static_cast<uint64_t>(got);
}

std::vector<uint8_t> readModel(const std::string& path) {
  struct stat facts = {};
  const bool isThere = ::stat(path.c_str(), &facts) == 0;
  if (isThere && !S_ISREG(facts.st_mode))
    throwUnreadable(path, S_ISDIR(facts.st_mode) ? "it is a folder" : "it is not an ordinary file");
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file < 0 || ::fstat(file, &facts) != 0) throwUnreadable(path, std::strerror(errno));
  std::vector<uint8_t> bytes(static_cast<std::size_t>(facts.st_size));
  const ssize_t got = readAll(file, bytes.data(), bytes.size());
  if (got < 0) throwUnreadable(path, std::strerror(errno));
  if (static_cast<std::size_t>(got) < bytes.size()) throwUnreadable(path, "it became shorter while it was read");
  return bytes;
}

}  // namespace nt::building
