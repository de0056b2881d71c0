#include "file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "descriptor.h"
#include "error.h"

namespace nt {
namespace {

[[noreturn]] void throwFileError(const char* what, const std::string& path) {
  throw Error("ERR_TRT_FILE", std::string("Cannot ") + what + " " + path + ": " + std::strerror(errno),
              {{"path", path}});
}

bool writeAll(int file, const char* data, std::size_t size) noexcept {
  while (size > 0) {
    const ssize_t written = ::write(file, data, size);
    if (written < 0 && errno != EINTR) return false;
    if (written > 0) data += written, size -= static_cast<std::size_t>(written);
  }
  return true;
}

// A file that is new, even where somebody left a link of that name, and that who could read the old one can read.
void writeNew(const std::string& path, const std::string& like, const void* data, std::size_t size) {
  ::unlink(path.c_str());
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (file < 0) throwFileError("write", path);
  struct stat old = {};
  if (::stat(like.c_str(), &old) == 0) ::fchmod(file, old.st_mode & 0777);
  if (!writeAll(file, static_cast<const char*>(data), size) || ::fsync(file) != 0) throwFileError("write", path);
}

// The new name is on the disk only once its folder is.
void syncFolderOf(const std::string& path) {
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  const std::string folder = parent.empty() ? "." : parent.string();
  const Descriptor opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // some file systems cannot sync a folder, and say so
  if (opened < 0 || (::fsync(opened) != 0 && errno != EINVAL)) throwFileError("sync", folder);
}

}  // namespace

std::vector<uint8_t> readFileIfThere(const std::string& path) {
  // a pipe or a device, which may never answer, is not waited for
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file < 0 && errno == ENOENT) return {};
  struct stat facts = {};
  if (file < 0 || ::fstat(file, &facts) != 0) throwFileError("read", path);
  if (!S_ISREG(facts.st_mode)) {
    const char* why = S_ISDIR(facts.st_mode) ? "it is a folder" : "it is not an ordinary file";
    throw Error("ERR_TRT_FILE", "Cannot read " + path + ": " + why, {{"path", path}});
  }
  std::vector<uint8_t> bytes(static_cast<std::size_t>(facts.st_size));
  std::size_t size = 0;
  for (;;) {
    if (size == bytes.size()) bytes.resize(size + 4096);  // it may have grown, and the end is seen by a read of nothing
    const ssize_t got = readAll(file, bytes.data() + size, bytes.size() - size);
    if (got < 0) throwFileError("read", path);
    size += static_cast<std::size_t>(got);
    if (size < bytes.size()) break;
  }
  bytes.resize(size);
  return bytes;
}

void replaceFile(const std::string& path, const void* data, std::size_t size) {
  const std::string temporary = path + ".tmp";
  try {
    writeNew(temporary, path, data, size);
    if (std::rename(temporary.c_str(), path.c_str()) != 0) throwFileError("write", path);
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
  syncFolderOf(path);
}

}  // namespace nt
